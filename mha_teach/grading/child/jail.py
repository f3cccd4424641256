"""What a student's process loses before it sees a line of the student's code. Linux; standard library only.

Three layers, each of which holds without the others: limits on memory, time, files (every system); a filter of
system calls (no programs, no processes, no sockets, no signals to others); and, inside bubblewrap, namespaces of
its own, so that one student's process can't see the next one's.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_NEW = {
    "user": 0x10000000,
    "pid": 0x20000000,
    "mount": 0x00020000,
}  # network and IPC: bubblewrap, and the filter
NO_NEW_PRIVS, SECCOMP, DUMPABLE, SUBREAPER, CAPBSET_DROP, DEATH_SIGNAL = 38, 22, 4, 36, 24, 1
_THREAD_NUMBER, _COLLAPSE, _LARGE_PAGE = 40, 25, 2 * 1024**2
_CHILD_NUMBER = 0x00200000 | 0x01000000  # clone: keep the C library's note of the thread's own number right

# Numbers of the system calls that no answer needs: on x86-64, on 64-bit ARM; -1 where there is none.
_TABLE = """
fork 57 -1, vfork 58 -1, execve 59 221, execveat 322 281, socket 41 198, ptrace 101 117,
process_vm_readv 310 270, process_vm_writev 311 271, kill 62 129, tkill 200 130, tgkill 234 131,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_open 434 434, pidfd_send_signal 424 424,
pidfd_getfd 438 438, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, unshare 272 97,
setns 308 268, open_tree 428 428, move_mount 429 429, fsopen 430 430, fsmount 432 432, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, keyctl 250 219,
add_key 248 217, request_key 249 218, memfd_create 319 279, open_by_handle_at 304 265,
setrlimit 160 164, shmget 29 194, msgget 68 186, semget 64 190, mq_open 240 180, init_module 175 105,
finit_module 313 273, kexec_load 246 104, reboot 169 142"""
_REFUSED = {name: (int(x), int(arm)) for name, x, arm in map(str.split, _TABLE.split(","))}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _CLONE3, _PRLIMIT, _PRCTL = (56, 220), 435, (302, 261), (157, 167)
_FCNTL, _IOCTL = (72, 25), (16, 29)
_OWNERS = ((_FCNTL, 8, 15), (_IOCTL, 0x8901, 0x8902))  # who gets the signal of a pipe, which may be SIGKILL
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026


def _call(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def prctl(option: int, *values: int) -> None:
    """The system call ``prctl``; raises ``OSError``."""
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _call(_libc.prctl(option, *padded), f"prctl {option}")


def limit(memory: int, seconds: int, file: int) -> None:
    """Bytes of address space beyond what is already in use, CPU seconds, bytes of one file; no core file."""
    with open("/proc/self/statm", encoding="ascii") as stat:
        used = int(stat.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for which, most in (
        (resource.RLIMIT_AS, used + memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, 64 * 1024**2),
    ):
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (512, 512))
    except (ValueError, OSError):
        pass  # the filter refuses new processes anyway


def gather() -> None:
    """Put the memory in use into large pages: what is forked afterwards copies tens of entries instead of tens of
    thousands. It is a wish, which systems without such pages don't fulfil."""
    with open("/proc/self/maps", encoding="ascii") as file:
        parts = [line.split() for line in file]
    for place, rights, _, _, number, *name in parts:
        if rights == "rw-p" and number == "0" and name in ([], ["[heap]"]):
            begin, end = (int(text, 16) for text in place.split("-"))
            begin, end = -(-begin // _LARGE_PAGE) * _LARGE_PAGE, end // _LARGE_PAGE * _LARGE_PAGE
            if begin < end:
                _libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _COLLAPSE)


def fork_apart() -> int:
    """Fork straight into new user, process and mount namespaces, with one copy of this process where ``fork_twice`` needs
    two. Only for a process with a single thread; raises ``OSError`` where the system can't."""
    machine, place, user, group = platform.machine(), ctypes.c_void_p(), os.getuid(), os.getgid()
    _call(_libc.prctl(_THREAD_NUMBER, ctypes.byref(place), 0, 0, 0), "the thread's number")
    if machine not in _MACHINES:
        raise OSError(f"no clone for {machine}")
    flags = sum(_NEW.values()) | _CHILD_NUMBER | signal.SIGCHLD
    last = (place, None) if machine == "x86_64" else (None, place)
    python = ctypes.PyDLL(None, use_errno=True)  # its calls keep the interpreter's lock, as a fork must
    python.PyOS_BeforeFork()
    number = python.syscall(*map(ctypes.c_ulong, (_CLONE[_MACHINES[machine][0]], flags, 0, 0)), *last)
    if number:
        python.PyOS_AfterFork_Parent()
        _call(min(number, 0), "clone")
        return number
    try:
        python.PyOS_AfterFork_Child()
        _map_ids(user, group)
    except BaseException:  # noqa: BLE001  two processes must not go on from here
        os._exit(97)
    return 0


def fork_twice() -> int:
    """The same in two steps: this process enters the namespaces of users and mounts too, so it is of no other use then."""
    user, group = os.getuid(), os.getgid()
    _call(_libc.unshare(sum(_NEW.values())), "unshare")
    _map_ids(user, group)
    return os.fork()


def probe(fork: Callable[[], int], scratch: str) -> None:
    """Raises ``OSError`` if ``fork`` does not lead into namespaces in which ``furnish`` works."""
    if (inner := fork()) == 0:
        try:
            furnish(scratch, 4096)
            os._exit(os.getpid() != 1)
        finally:
            os._exit(1)
    if os.waitpid(inner, 0)[1]:
        raise OSError("no mounts in a namespace")


def _map_ids(user: int, group: int) -> None:
    """In a new user namespace: the numbers of user and group are what they were outside."""
    prctl(DUMPABLE, 1)  # the maps of a process that can't be dumped are root's to write
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def furnish(scratch: str, size: int) -> None:
    """In the new mount namespace: an empty folder of its own to write in, and no view of other processes."""
    _mount("none", "/", None, 0x4000 | 0x40000, None)  # MS_REC | MS_PRIVATE
    _mount("tmpfs", scratch, "tmpfs", 2 | 4, f"size={size},mode=700,nr_inodes=20000")  # MS_NOSUID | MS_NODEV
    _mount("tmpfs", "/proc", "tmpfs", 1 | 2 | 4 | 8, "size=4096")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _call(_libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def powerless() -> None:
    """Give up every capability, for good."""
    for number in range(64):
        _libc.prctl(CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
    head, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _call(_libc.capset(head, nothing), "capset")


def refuse() -> None:
    """Refuse the system calls that no answer needs, with "not permitted", for this process and for good."""
    machine = platform.machine()
    if machine not in _MACHINES:
        raise OSError(f"no filter of system calls for {machine}")
    index, architecture = _MACHINES[machine]
    program = _program(index, architecture)
    buffer = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    prctl(NO_NEW_PRIVS, 1)
    _call(_libc.prctl(SECCOMP, ctypes.c_ulong(2), ctypes.c_char_p(filter_), 0, 0), "seccomp")


def _program(index: int, architecture: int) -> bytes:
    """The filter in the kernel's small machine language: (code, jump if true, jump if false, number)."""
    load, equal, more, test, end = 0x20, 0x15, 0x35, 0x45, 0x06
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), (end, 0, 0, _KILL), (load, 0, 0, 0)]
    steps += [(more, 0, 1, 0x40000000), (end, 0, 0, _EPERM)]  # the second numbering that x86-64 has
    for numbers in _REFUSED.values():
        if numbers[index] >= 0:
            steps += [(equal, 0, 1, numbers[index]), (end, 0, 0, _EPERM)]
    steps += [(equal, 0, 1, _CLONE3), (end, 0, 0, _ENOSYS)]  # then the C library tries clone
    # clone only for threads, prlimit only to read (its third argument is null), prctl not to lift the death signal
    for call, one, other in _OWNERS:
        steps += [(equal, 0, 5, call[index]), (load, 0, 0, 24), (equal, 1, 0, one), (equal, 0, 1, other)]
        steps += [(end, 0, 0, _EPERM), (end, 0, 0, _ALLOW)]
    steps += [
        (equal, 0, 4, _CLONE[index]),
        *((load, 0, 0, 16), (test, 0, 1, 0x10000), (end, 0, 0, _ALLOW), (end, 0, 0, _EPERM)),
        (equal, 0, 6, _PRLIMIT[index]),
        *((load, 0, 0, 32), (equal, 0, 3, 0), (load, 0, 0, 36), (equal, 0, 1, 0), (end, 0, 0, _ALLOW)),
        (end, 0, 0, _EPERM),
        (equal, 0, 3, _PRCTL[index]),
        *((load, 0, 0, 16), (equal, 0, 1, DEATH_SIGNAL), (end, 0, 0, _EPERM)),
        (end, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
