"""How much an object holds, counted exactly: no allocator's slack, nothing shared by all objects."""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import numpy as np

_SHARED = (type, ModuleType)


def held_by(item: Any) -> list[Any]:
    """Return what an object refers to; of a function only what it closes over, since its globals are everybody's."""
    if isinstance(item, FunctionType):
        return [*(item.__closure__ or ()), *(item.__defaults__ or ()), item.__dict__]
    if isinstance(item, np.ndarray):
        return [item.base, *(item.ravel().tolist() if item.dtype.hasobject else ())]
    if isinstance(item, msgspec.Struct):  # those without gc hide what they hold from the collector
        return [getattr(item, name) for name in item.__struct_fields__]
    return gc.get_referents(item)


def reachable(root: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every object that ``root`` holds, itself first, each once, with what it refers to in turn."""
    seen = {id(root)}
    alive = [root]  # what is reached stays alive, or another object could take its id
    for item in alive:
        held = [each for each in held_by(item) if not isinstance(each, _SHARED)]
        yield item, held
        for each in held:
            if id(each) not in seen:
                seen.add(id(each))
                alive.append(each)


def deep_size(root: Any) -> int:
    """Return the size of everything an object holds: a unit for each reference, and the bytes of what holds none.

    A container counts its entries, not the room it keeps for more: that room depends on its past.
    """
    total = 0
    for item, held in reachable(root):
        total += len(held)
        if isinstance(item, np.ndarray):
            total += item.nbytes
        elif isinstance(item, (bytes, bytearray, memoryview, array)):
            total += memoryview(item).nbytes
        elif not gc.is_tracked(item) and not held:
            total += sys.getsizeof(item)
    return total
