"""The filter of system calls lets no code send a signal to the judge, also not through a pipe."""

import fcntl
import os
import struct

import pytest

from mha_teach.grading.child import jail

WAYS = {
    "F_SETOWN": lambda pipe: fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getppid()),
    "F_SETOWN_EX": lambda pipe: fcntl.fcntl(pipe, 15, struct.pack("ii", 1, os.getppid())),
    "FIOSETOWN": lambda pipe: fcntl.ioctl(pipe, 0x8901, struct.pack("i", os.getppid())),
    "SIOCSPGRP": lambda pipe: fcntl.ioctl(pipe, 0x8902, struct.pack("i", os.getppid())),
}
ORDINARY = {
    "F_SETFL": lambda pipe: fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK),
    "F_DUPFD": lambda pipe: fcntl.fcntl(pipe, fcntl.F_DUPFD, 40),
    "FIONREAD": lambda pipe: fcntl.ioctl(pipe, 0x541B, bytes(4)),
}


def refused(way, filtered: bool) -> bool:
    """Whether the system says "not permitted", in a process of its own."""
    if (child := os.fork()) == 0:
        code = 2
        try:
            pipe = os.pipe()[0]
            if filtered:
                jail.refuse()
            code = 0
            way(pipe)
        except PermissionError:
            code = 1 if code == 0 else 2
        except OSError:
            pass
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 2:
        pytest.skip("this system has no filter")
    return code == 1


@pytest.mark.parametrize("name", WAYS)
def test_a_pipe_signals_nobody_else(name):
    assert refused(WAYS[name], True) and not refused(WAYS[name], False)


@pytest.mark.parametrize("name", ORDINARY)
def test_a_pipe_is_still_a_pipe(name):
    assert not refused(ORDINARY[name], True)
