"""What the live widgets share: choices that are checked, one computation per change, and no exception for the reader."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, ClassVar

import anywidget
import torch
import traitlets as t

from mha_teach import devices
from mha_teach.widgets import static

Problem = tuple[str, str]


def outside(name: str, value: Any, limits: dict, words: dict, label: str) -> Problem | None:
    """(field, sentence) when ``value`` is no number within ``limits[name] = [low, high, step]``; step 1 = whole."""
    low, high, step = limits[name]
    number = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if number and (step != 1 or value == int(value)):
        return None
    saying = words["whole" if step == 1 else "range"]
    return name, saying.format(label=label, low=low, high=high)


def pack(value: Any) -> Any:
    """A tensor as float32 bytes in row-major order (uint8 stays uint8), as ``floats`` of core.mjs reads it."""
    if not isinstance(value, torch.Tensor):
        return value
    kind = torch.uint8 if value.dtype == torch.uint8 else torch.float32
    return value.detach().to("cpu", kind).contiguous().numpy().tobytes()


class Choice(t.Any):
    """Takes anything, so that ``admit`` and not traitlets says what is allowed; None too must pass through it."""

    allow_none = False


def judged(choices: Iterable[str]) -> t.EventHandler:
    """The validator of a subclass: every choice of the reader, and the device, goes through ``Widget.admit``."""
    return t.validate(*choices, "device")(lambda widget, proposal: widget.admit(proposal))


class Widget(anywidget.AnyWidget):
    """A view whose numbers torch computes on the chosen device.

    Subclasses give NAME, CHOICES with a ``Choice`` for each, ``_admit = judged(CHOICES)``, limits, ``compute``, ``picture``.

    A choice that can't be is refused: the trait keeps its last good value, ``message`` says what is allowed, and the picture stays.
    """

    NAME: ClassVar[str]
    CHOICES: ClassVar[dict[str, Any]]  # trait names and their default values
    SHOWN: ClassVar[tuple[str, ...]] = ("query",)  # choices that change the picture, not the numbers
    STATIC: ClassVar[dict[str, list]]  # limits where the page computes
    LIVE: ClassVar[dict[str, list]]  # limits where torch computes

    words = t.Dict().tag(sync=True)
    limits = t.Dict().tag(sync=True)
    devices = t.List().tag(sync=True)
    device = Choice("cpu").tag(sync=True)
    message = t.Dict().tag(sync=True)
    result = t.Dict().tag(sync=True)

    def __init_subclass__(cls, **options: Any) -> None:
        if "NAME" in vars(
            cls
        ):  # anywidget makes a further subclass per instance, where these are traits already
            cls._esm, cls._css = static.esm(cls.NAME), static.styles()
        super().__init_subclass__(**options)

    def __init__(self, device: str | None = None, **choices: Any) -> None:
        offered = devices.available()
        self._good = {**self.CHOICES, "device": offered[0]}
        self._done: dict | None = None
        wanted = self._good | choices | ({} if device is None else {"device": device})
        super().__init__(words=static.words(self.NAME), limits=self.LIVE, devices=offered, **wanted)
        self.observe(self._refresh, list(self._good))
        self._refresh()

    @classmethod
    def problem(cls, choices: dict, limits: dict) -> Problem | None:
        """None, or the field at fault and a sentence that says what is allowed."""
        words = static.words(cls.NAME)
        for name in filter(limits.__contains__, cls.CHOICES):
            if found := outside(name, choices[name], limits, words, words["field_names"][name]):
                return found
        return cls.misfit(choices, limits, words)

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        """What a widget objects to beyond the limits of single numbers."""
        return None

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        """The numbers of these choices; tensors are sent as bytes, the rest as JSON."""
        raise NotImplementedError

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        """SVG, alt text and caption of a state."""
        raise NotImplementedError

    def choices(self) -> dict:
        """The present choices by name, without the device."""
        return {name: getattr(self, name) for name in self.CHOICES}

    def admit(self, proposal: t.Bunch) -> Any:
        """The proposed value, or the last good one; in that case ``message`` says what is allowed."""
        name, value = proposal.trait.name, proposal.value
        # Several traits may change at once (h and "tied"): judge them together, and only then one by one.
        together = {other: getattr(self, other) for other in self._good} | {name: value}
        found = self._fault(together) and self._fault(self._good | {name: value})
        if found:
            self.message = {"field": found[0], "text": found[1]}
            return self._good[name]
        self._good[name] = value
        return value

    def _fault(self, choices: dict) -> Problem | None:
        if choices["device"] not in self.devices:
            names, options = self.words["field_names"], ", ".join(self.devices)
            return "device", self.words["choose"].format(label=names["device"], options=options)
        return self.problem(choices, self.limits)

    def _refresh(self, _: t.Bunch | None = None) -> None:
        # One message may change several traits, and each of them knocks here: compute once.
        wanted = self.choices() | {"device": self.device}
        key = {name: value for name, value in wanted.items() if name not in self.SHOWN}
        if key == self._done or self._fault(wanted):
            return
        devices.synchronize(self.device)
        start = time.perf_counter()
        try:
            found = self.compute(wanted, self.device)
            devices.synchronize(self.device)
        except RuntimeError as error:  # the device is too small, or lacks an operation
            reason = str(error).splitlines()[0][:120]
            text = self.words["failed"].format(device=self.device, reason=reason)
            self.message = {"field": "device", "text": text}
            return
        elapsed = 1000 * (time.perf_counter() - start)
        if self._done is not None:
            self.message = {}
        self._done = key
        self.result = {
            **{name: pack(value) for name, value in found.items()},
            "device": self.device,
            "ms": round(elapsed, 2),
        }

    def html(self) -> str:
        """The widget for a page without a kernel: the same choices, or the default ones where a page can't follow."""
        choices = self.choices()
        if self.problem(choices, self.STATIC):
            choices = dict(self.CHOICES)
        svg, alt, caption = self.picture(choices)
        return static.block(self.NAME, {**choices, "limits": self.STATIC}, svg, alt, caption)

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.choices().items())})"
        return text if len(text) <= 110 else f"{text[:110]}…"  # where ipywidgets 7 cuts it, too

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict, dict] | None:
        shown = super()._repr_mimebundle_(**options)
        if shown is None:
            return None
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        return {**data, "text/plain": repr(self), "text/html": self.html()}, metadata
