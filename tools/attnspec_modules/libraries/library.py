"""A library as layers need it: made, filled and called; which one a class belongs to is read off its bases."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from attnspec_modules.libraries.kinds import is_dict, is_listed

_BASES = {
    ("torch", "Module"): "torch",
    ("flax.nnx", "Module"): "flax",
    ("keras", "Layer"): "keras",
    ("tf_keras", "Layer"): "keras",
}
"""Beginning of a base's module and its name, to the library; no library is imported to look."""

_MODULES = {"torch": "torch_modules", "flax": "flax_modules", "keras": "keras_layers", "plain": "plain_classes"}

_CALLED = ("forward", "call", "__call__")
"""Methods that run a layer, the first that its class defines."""


class Parameter(NamedTuple):
    """Shape of a weight or bias, and whether its matrix is applied transposed: None where the library leaves it open.

    `owner` is the class that applies it: what holds for one matrix of a class holds for the others.
    """

    shape: tuple[int, ...]
    transposed: bool | None
    owner: str


class Kept(dict[str, Any]):
    """A dict that a layer fills itself, and that is handed to it as it is."""


class Library(Protocol):
    """One library: how its layers are made in a dtype, what they hold, and how they are called."""

    @property
    def evaluates(self) -> bool:
        """Whether its layers know training from evaluation, in which they are called."""
        ...

    def without_dropout(self) -> AbstractContextManager[None]:
        """Have dropout do nothing, even in layers that leave it on."""
        ...

    def made(self, layer_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Return a layer in evaluation, whose parameters have the dtype, where it is not built by its first call."""
        ...

    def beside(self, object_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Return an object that is handed to a layer, such as a cache, whose numbers have the dtype."""
        ...

    def parameters(self, layer: Any) -> dict[str, Parameter]:
        """Return the parameters of a layer, by the attributes that lead to them."""
        ...

    def fill(self, layer: Any, values: Mapping[str, NDArray[Any]]) -> None:
        """Put numbers into parameters."""
        ...

    def state(self, layer: Any) -> Any:
        """Return what may change in a call, such as caches."""
        ...

    def reset(self, layer: Any, state: Any) -> None:
        """Make a layer forget the calls since its state was taken."""
        ...

    def called(self, layer: Any, given: Sequence[Any], named: Mapping[str, Any], dtype: str) -> Any:
        """Call a layer with tensors in place of arrays, and return arrays in place of tensors."""
        ...


def library_of(found: object) -> str | None:
    """Return the library to which a class or an instance belongs; ``plain`` for a class that is called like a layer."""
    layer_class: type = found if isinstance(found, type) else type(found)
    for base in layer_class.__mro__:
        for (module, name), library in _BASES.items():
            if base.__name__ == name and (base.__module__ + ".").startswith(module + "."):
                return library
    if layer_class.__module__ in ("builtins", "types", "functools") or inspect.isroutine(found):
        return None
    return "plain" if method_of(layer_class) is not None else None


def method_of(layer_class: type) -> str | None:
    """Return the method that runs layers of a class, or None."""
    for base in layer_class.__mro__:
        for name in _CALLED:
            if name in base.__dict__ and base.__name__ not in ("Module", "Layer", "object"):
                return name
    return None


def library_called(name: str) -> Library:
    """Return a library by its name; it is imported."""
    return import_module(f"attnspec_modules.libraries.{_MODULES[name]}").LIBRARY


_LISTS: Mapping[Any, Any] = {list: list, tuple: tuple}


def with_tensors(value: Any, tensor: Any) -> Any:
    """Return a value in which each array is what `tensor` makes of it, inside lists, tuples and dicts, too."""
    if isinstance(value, Kept):
        return value
    if is_listed(value) and type(value) in _LISTS:
        return _LISTS[type(value)](with_tensors(each, tensor) for each in value)
    if is_dict(value):
        return {name: with_tensors(each, tensor) for name, each in value.items()}
    return tensor(value)
