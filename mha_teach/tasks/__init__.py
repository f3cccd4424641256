"""Small tasks whose answer, and whose best score without separate roles, are known (chapters 01, 02 and 06).

Every task draws endless fresh data: items to look at, queries that ask, and for each query ``roles`` answers.
A seed fixes a task's world (its linear maps) and its stream of batches, whatever other seeds run beside it.
"""

from mha_teach.bounds import bag_score, draw_score
from mha_teach.tasks.base import CHUNK, LOUD, Batch, Task
from mha_teach.tasks.lookups import KeyedLookups, Lookups, NearestNeighbour, TwoNoisyLookups
from mha_teach.tasks.relations import FixedOffsets, UnlikeRelations

__all__ = [
    "CHUNK",
    "LOUD",
    "Batch",
    "FixedOffsets",
    "KeyedLookups",
    "Lookups",
    "NearestNeighbour",
    "Task",
    "TwoNoisyLookups",
    "UnlikeRelations",
    "bag_score",
    "draw_score",
]
