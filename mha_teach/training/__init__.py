"""Train many small attention models at once (chapters 01, 02 and 06): ``sweep`` is the one call.

>>> from mha_teach.tasks import TwoNoisyLookups
>>> sweep(TwoNoisyLookups(), [{"num_heads": h} for h in (1, 2, 4)], steps=400)  # doctest: +SKIP
num_heads  d_k        score  lowest…highest
        1   64  0.53 ± 0.00       0.53…0.53
        ...

What fits into a cell: one config with five seeds at batch 32 takes 5 to 10 ms of CPU a step on look-up tasks, and two to
three times that on :class:`~mha_teach.tasks.FixedOffsets`, where all 16 positions ask. So 20 s of CPU are 400 steps
of five head counts, or 800 of three. What takes longer is recorded in ``mha_teach/data/measured``.

``model`` holds the options and the forward pass, ``loop`` the training, ``lanes`` the fast form of attention, ``plain`` the same
experiment as an ordinary module and loop, ``gates`` closes heads after training, ``result`` what comes back, ``progress`` the bar.
"""

from mha_teach.training.gates import gate_score
from mha_teach.training.model import Config, forward
from mha_teach.training.result import Sweep, Table
from mha_teach.training.sweep import sweep

__all__ = ["Config", "Sweep", "Table", "forward", "gate_score", "sweep"]
