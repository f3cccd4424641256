"""Plain values between the judge and a student's process: JSON and raw bytes, nothing that could run.

Both sides use this file. It takes a value apart by its true type, never by what the value says of itself, and
builds a value only from what has been checked: sizes, depth, number of parts, and that the bytes fit the shape.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable

import numpy as np
import torch

HEAD = struct.Struct(">II")
LARGEST = 32 * 1024**2  # bytes of one message
HEAD_MOST = LARGEST // 4  # of these, bytes of JSON, which takes many times as much when it is read
DEPTH, PARTS, TEXT, DIGITS = 16, 20_000, 20_000, 4000
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    )
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_ARRAYS = set("?bhilqBHILQefdFD")
# Taken now, before anyone can put something else in their place.
_T = torch.Tensor
_detach, _plain_tensor, _cpu, _contiguous = _T.detach, _T.as_subclass, _T.cpu, _T.contiguous
_reshape, _view, _numpy, _numel = _T.reshape, _T.view, _T.numpy, _T.numel
_stride, _storage, _offset = _T.stride, _T.untyped_storage, _T.storage_offset
_clone, _as_strided, _from_bytes, _empty = _T.clone, _T.as_strided, torch.frombuffer, torch.empty
_Guard, _Tensor, _dumps = torch._C.DisableTorchFunctionSubclass, torch.Tensor, json.dumps
_strided, _byte = torch.strided, torch.uint8


class Unfit(ValueError):
    """A message or value that breaks the format; its text says how."""


class Opaque:
    """Something that has no plain form: only the name of its type crosses, and a number to call it by."""

    def __init__(self, name: str, handle: int = -1, about: object = None) -> None:
        self.name, self.handle, self.about = name, handle, about


def name_of(value: object) -> str:
    """The true name of the value's class, fit to be shown."""
    return type.__dict__["__name__"].__get__(type(value))[:60]


class Packer:
    """Takes values apart; ``other(value)`` says what stands for one without plain form: an :class:`Opaque`.

    ``layout`` keeps a tensor's own memory, strides and offset, as inputs need; else its numbers alone are sent.
    ``known`` lists tensors whose memory a result may share.
    """

    def __init__(self, other: Callable[[object], Opaque], layout: bool = False, known: tuple = ()) -> None:
        self.other, self.layout, self.known = other, layout, known
        self.buffers: list[bytes] = []
        self.size = self.parts = 0
        self.tensors: list[torch.Tensor] = []
        self._places: dict[
            int, int
        ] = {}  # of tensors that are packed already: the same one comes out the same

    def pack(self, value: object, depth: int = 0) -> list:
        """The value as a list that JSON takes."""
        self.parts += 1
        kinds = type.__dict__["__mro__"].__get__(type(value))
        if depth > DEPTH or self.parts > PARTS:
            return ["o", name_of(value), -1, None]
        if value is None:
            return ["n"]
        if value is ...:
            return ["e"]
        if type(value) is bool:
            return ["b", value]
        if int in kinds:
            value = int.__index__(value)
            return ["i", hex(value)] if value.bit_length() < DIGITS else ["o", "int", -1, None]
        if float in kinds:
            return ["f", float.__float__(value).hex()]
        if str in kinds:
            return ["s", str.__str__(value)[:TEXT]]
        if _Tensor in kinds:
            if self.layout and id(value) in self._places:
                return ["=", self._places[id(value)]]
            self._places[id(value)] = len(self.tensors)
            return self._tensor(value)
        if tuple in kinds or list in kinds:
            base = tuple if tuple in kinds else list
            if base.__len__(value) > PARTS:
                return ["o", f"{base.__name__} of {base.__len__(value):,} parts", -1, None]
            return ["u" if base is tuple else "l", [self.pack(x, depth + 1) for x in base.__iter__(value)]]
        if dict in kinds and dict.__len__(value) <= PARTS:
            pairs = list(dict.items(value))
            return ["d", [[self.pack(k, depth + 1), self.pack(v, depth + 1)] for k, v in pairs]]
        if np.ndarray in kinds or np.generic in kinds:
            return self._array(value)
        stranger = self.other(value)
        return ["o", stranger.name, stranger.handle, stranger.about]

    def _bytes(self, data: bytes) -> list[int]:
        start = self.size
        self.size += len(data)
        if self.size > LARGEST:
            raise Unfit(f"more than {LARGEST // 1024**2} MB")
        self.buffers.append(data)
        return [start, len(data)]

    def _tensor(self, value: torch.Tensor) -> list:
        with _Guard():
            grad, plain = value.requires_grad, _plain_tensor(_detach(value), _Tensor)
            if plain.is_meta or plain.layout is not _strided or plain.is_quantized or plain.is_nested:
                return ["o", "tensor without ordinary numbers", -1, None]
            if plain.dtype not in _NAMES:
                return ["o", f"tensor of {plain.dtype}", -1, None]
            shape, more = list(plain.shape), {"grad": grad}
            plain = _cpu(plain).resolve_conj().resolve_neg()
            if self.layout:
                memory = _empty(0, dtype=_byte).set_(_storage(plain))
                more |= {"stride": list(_stride(plain)), "offset": _offset(plain)}
            else:
                if _numel(plain) * plain.element_size() > LARGEST:
                    return ["o", f"tensor of shape {tuple(shape)}"[:60], -1, None]
                memory = _view(_reshape(_contiguous(plain), (-1,)), _byte) if _numel(plain) else plain
                for index, other in enumerate(self.known):
                    if _storage(other).data_ptr() == _storage(plain).data_ptr() != 0:
                        more |= {"alias": index, "stride": list(_stride(plain)), "offset": _offset(plain)}
            data = _numpy(memory).tobytes() if _numel(memory) else b""
        self.tensors.append(value)
        return ["t", _NAMES[plain.dtype], shape, *self._bytes(data), more]

    def _array(self, value: np.ndarray) -> list:
        plain = np.array(value, copy=True, subok=False)
        if plain.dtype.char not in _ARRAYS or plain.nbytes > LARGEST:
            return ["o", name_of(value), -1, None]
        return ["a", plain.dtype.str, list(plain.shape), *self._bytes(plain.tobytes())]


def frame(message: dict, buffers: list[bytes] = ()) -> bytes:
    """A message as bytes: two lengths, JSON, raw numbers."""
    head, blob = _dumps(message).encode(), b"".join(buffers)
    return HEAD.pack(len(head), len(blob)) + head + blob


def unpack(tree: object, blob: bytes, other: Callable[[Opaque], object], seen: list | None = None) -> object:
    """The value that ``tree`` describes; raises :class:`Unfit` for anything that is not exactly the format.

    ``seen`` is filled with (tensor, its details) in the order in which they were packed.
    """
    left, room, tensors = [PARTS + 1], [2 * LARGEST], []

    def build(node: object, depth: int) -> object:
        left[0] -= 1
        if left[0] < 0 or depth > DEPTH + 1:
            raise Unfit("too many parts")
        match node:
            case ["n"]:
                return None
            case ["e"]:
                return ...
            case ["b", bool() as value]:
                return value
            case ["i", str() as text] if len(text) < DIGITS:
                return int(text, 16)
            case ["f", str() as text] if len(text) < 64:
                return float.fromhex(text)
            case ["s", str() as text] if len(text) <= TEXT:
                return text
            case ["l", list() as items]:
                return [build(item, depth + 1) for item in items]
            case ["u", list() as items]:
                return tuple(build(item, depth + 1) for item in items)
            case ["d", list() as pairs]:
                return {_key(build(k, depth + 1)): build(v, depth + 1) for k, v in pairs}
            case ["t", str() as name, list() as shape, int() as start, int() as size, dict() as more]:
                _take(room, DTYPES[name].itemsize, shape, size)
                found = _tensor_from(name, shape, _cut(blob, start, size), more)
                tensors.append(found)
                if seen is not None:
                    seen.append((found, more))
                return found
            case ["=", int() as place] if 0 <= place < len(tensors):
                return tensors[place]
            case ["a", str() as name, list() as shape, int() as start, int() as size] if len(name) < 8:
                _take(room, np.dtype(name).itemsize, shape, size)
                return _array_from(name, shape, _cut(blob, start, size))
            case ["o", str() as name, int() as handle, about] if len(name) <= 80:
                return other(Opaque(name, handle, about))
        raise Unfit("an unknown part")

    try:
        return build(tree, 0)
    except Unfit:
        raise
    except (ValueError, TypeError, RuntimeError, OverflowError, KeyError, MemoryError) as error:
        raise Unfit(f"a part that can't be read ({type(error).__name__})") from None


def _key(value: object) -> object:
    if type(value) not in (str, int, float, bool, tuple, type(None)):
        raise Unfit("a key that is no text or number")
    hash(value)
    return value


def _cut(blob: bytes, start: int, size: int) -> bytearray:
    if start < 0 or size < 0 or start + size > len(blob):
        raise Unfit("bytes that aren't there")
    return bytearray(blob[start : start + size])


def _take(room: list[int], width: int, shape: list, size: int) -> None:
    """Many parts may name the same bytes, and a stride of nought makes one byte many: what is built is counted."""
    room[0] -= max(width * math.prod(_sizes(shape)), size)
    if room[0] < 0:
        raise Unfit(f"more than {2 * LARGEST // 1024**2} MB of numbers")


def _sizes(shape: list) -> tuple[int, ...]:
    if len(shape) > 32 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise Unfit("a strange shape")
    return tuple(shape)


def _tensor_from(name: str, shape: list, data: bytearray, more: dict) -> torch.Tensor:
    dtype, sizes = DTYPES[name], _sizes(shape)
    flat = _from_bytes(data, dtype=dtype) if data else _empty(0, dtype=dtype)
    if "stride" in more and "alias" not in more:
        return _as_strided(flat, sizes, _sizes(more["stride"]), _sizes([more["offset"]])[0])
    if math.prod(sizes) != _numel(flat):
        raise Unfit("bytes that don't fit the shape")
    return _clone(_reshape(flat, sizes))


def _array_from(name: str, shape: list, data: bytearray) -> np.ndarray:
    dtype = np.dtype(name)
    if dtype.char not in _ARRAYS or math.prod(_sizes(shape)) * dtype.itemsize != len(data):
        raise Unfit("bytes that don't fit the array")
    return np.frombuffer(bytes(data), dtype=dtype).reshape(_sizes(shape)).copy()
