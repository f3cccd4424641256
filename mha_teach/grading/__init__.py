"""``mha grade DIR``: from a folder of submissions to a gradebook, behind a wall.

The way of a submission: ``collect`` finds files, ``reading`` makes cells of bytes, ``submission`` matches cells with
exercises, ``whose`` tells with which student's numbers, ``judging`` asks the exercise's points, ``remote`` and ``session``
carry each call into the ``sandbox``, where ``child`` computes it; ``gradebook`` keeps what came of it, ``marks`` adds up,
``members`` knows the roster, ``feedback``, ``overview`` and ``chart`` tell it. ``batch`` does many, ``cluster`` gives them to the
``seat`` of each worker of Dask, ``command`` is what the command line calls, and ``repair`` mends notebooks without grading them.
``child`` runs alone in the sandbox: it imports nothing of this package, and only ``child/wire.py`` is used on both sides.

**What is prevented.** The judge, its points, the expected values and the comparison stay in the teacher's process; the
student's process gets inputs, drawn for its file from a secret that only the gradebook knows, and sends plain data back, whose every
size is checked. Nothing is unpickled. Each exercise of each submission has a process of its own, with limits on time,
memory, files, and with a filter that refuses programs, processes, sockets and signals to others. Behind bubblewrap it
sees a read-only system without exercises, solutions, homes or other submissions, no network, and an empty folder of its
own that is gone afterwards; a second set of namespaces keeps one submission from the next.

**What is not.** (``book/instructors.md`` tells it to teachers; keep the two alike.) Without bubblewrap code can read and write
what the account of the teacher can; the command says so, and names every other protection that this machine lacks. A worker
of a cluster is trusted, and its line is Dask's. The kernel is trusted, and so are torch and Python. A student
may compute an answer with this package's own functions (``mha_teach.attention.attend``), or hand in another's work. Outputs
and texts of the notebook are not graded. A process may keep a processor busy until its time is up. Notebooks are read
with Python's JSON and zip modules in the teacher's process, in bounded size.
"""

from __future__ import annotations
