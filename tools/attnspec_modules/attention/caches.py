"""Caches of layers: what the first call is given, what one gave back, and whether anything is kept at all."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from attnspec_modules.attention.constructing import Sizes, UndecidedError, constructor_of, made_with, scope_of
from attnspec_modules.attention.layer_reading import Forward
from attnspec_modules.libraries import Kept, Library
from attnspec_modules.libraries.kinds import attributes_of, entries_of, is_dict, is_listed

_CACHE = re.compile(r"cache|past_k|past_v|kv_(?:state|store|buffer)|prev_k|prev_v", re.IGNORECASE)
_DEEPEST = 6
"""Attributes of attributes, so far down, are looked at for what a call has changed."""

DICT = "dict"
"""What stands for an empty dict, which the layer fills itself."""


def is_named_cache(name: str) -> bool:
    """Return whether a name says that something is kept from call to call."""
    return bool(_CACHE.search(name))


def cache_classes(layer_class: type) -> list[str]:
    """Return the classes of a layer's file that are caches by their names, and can be made for any sizes."""
    found: list[str] = []
    for name, value in scope_of(layer_class).items():
        if isinstance(value, type) and value is not layer_class and is_named_cache(name):
            try:
                constructor_of(value)
            except UndecidedError:
                continue
            found.append(name)
    return found


def first_cache(begins: str | None, layer_class: type, library: Library, sizes: Sizes, dtype: str) -> Any:
    """Return what the first call is given: nothing, an empty dict, or an object of a class of the layer's file."""
    if begins is None:
        return None
    if begins == DICT:
        return Kept()
    cache_class = scope_of(layer_class)[begins]
    return library.beside(cache_class, made_with(constructor_of(cache_class), sizes), dtype)


def cache_in(returned: Any, forward: Forward) -> Any:
    """Return what a call gave back beside output and weights; None for nothing."""
    entries = entries_of(returned)
    kept = [each for number, each in enumerate(entries) if number not in (forward.output or 0, forward.weights)]
    kept = [each for each in kept if each is not None]
    return tuple(kept) if len(kept) > 1 else next(iter(kept), None)


def contents(value: Any) -> list[bytes]:
    """Return all numbers in a value, its entries and its attributes, to be compared with those of another time."""
    return list(_numbers(value, 0, set()))


def _numbers(value: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    if depth > _DEEPEST or id(value) in seen or isinstance(value, type):
        return
    if isinstance(value, bool | int | float | str | None):
        yield repr(value).encode()
        return
    seen.add(id(value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        yield np.asarray(value.detach() if hasattr(value, "detach") else value).tobytes()
    elif is_dict(value) or is_listed(value):
        for each in entries_of(value):
            yield from _numbers(each, depth + 1, seen)
    elif hasattr(value, "__dict__") and not inspect.isroutine(value):
        yield from _numbers(attributes_of(value), depth + 1, seen)
