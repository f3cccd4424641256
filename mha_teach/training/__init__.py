"""Train many small attention models at once (chapters 01 and 02): ``sweep`` is the one call.

>>> from mha_teach.tasks import TwoNoisyLookups
>>> from mha_teach.training import sweep
>>> sweep(TwoNoisyLookups(), [{"num_heads": h} for h in (1, 2, 4)]).table()  # doctest: +SKIP
"""

from mha_teach.training.model import Config, forward
from mha_teach.training.result import Sweep, Table
from mha_teach.training.sweep import sweep

__all__ = ["Config", "Sweep", "Table", "forward", "sweep"]
