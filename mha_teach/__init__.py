"""See, break and measure multi-head attention.

Each chapter of the book stands on one small module of this package, named for its idea:
``mha_teach.attention``, ``mha_teach.collapse``, ``mha_teach.scaling``, ...
Importing the package itself loads none of them, so it stays cheap.
"""

__version__ = "0.1.0"
