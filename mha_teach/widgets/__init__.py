"""Widgets that run alike on the static page, in JupyterLab and in Colab.

``LookUp`` (chapter 00), ``HeadSplitter`` (chapter 01), ``Saturation`` (chapter 02) ``MaskComposer`` (chapter 04) and ``HeadGallery`` (chapter 06) need the extra ``widgets``; ``static_bundle`` needs nothing.
"""

from __future__ import annotations

import importlib

from mha_teach.widgets.static import static_bundle

_HOMES = {
    "LookUp": "look_up",
    "HeadSplitter": "head_splitter",
    "Saturation": "saturation",
    "LaneTracer": "lane_tracer",
    "MaskComposer": "mask_composer",
    "HeadGallery": "head_gallery",
}
__all__ = [
    "HeadGallery",
    "HeadSplitter",
    "LaneTracer",
    "LookUp",
    "MaskComposer",
    "Saturation",
    "static_bundle",
]


def __getattr__(name: str) -> object:
    # Late, so that building the site needs no Jupyter.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
