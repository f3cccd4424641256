"""``mha release OUT``: what a class is handed, and what its teacher keeps.

``assignment`` makes cells and notebooks of the exercises, whatever they are for; ``classroom`` packs them, with the
package's wheel and an environment; ``roster`` reads who is in the class; ``command`` is what the command line calls.
``nbgrader`` and ``otter`` write the same assignments in the forms of those tools.
"""

from __future__ import annotations


class ReleaseError(RuntimeError):
    """Something that the teacher can mend; the text is one line and names the cure."""
