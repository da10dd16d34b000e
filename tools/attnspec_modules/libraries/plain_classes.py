"""Plain classes that hold their weights as arrays of NumPy, or as tensors of a library."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import numpy_dtype
from attnspec.tensors import tensors_called
from attnspec_modules.libraries.kinds import attributes_of, is_array, is_dict
from attnspec_modules.libraries.library import Parameter, with_tensors
from attnspec_modules.libraries.walking import walked

_LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax"}


class Plain:
    """Objects that are called, or whose ``forward`` is."""

    evaluates = False

    def without_dropout(self) -> AbstractContextManager[None]:
        """Leave it as it is."""
        return nullcontext()

    def made(self, layer_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make an object; its arrays get the dtype."""
        # It may draw from the generator of all, whose course is the user's.
        before = np.random.get_state()
        try:
            layer = layer_class(**keywords)
        finally:
            np.random.set_state(before)
        if getattr(layer, "training", False) is True:
            layer.training = False
        for _, holder, name, value in list(_arrays(layer)):
            if is_array(value) and value.dtype.kind == "f":
                _put(holder, name, value.astype(numpy_dtype(dtype)))
        return layer

    def beside(self, object_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make an object; its arrays take what they are given."""
        del dtype
        return object_class(**keywords)

    def parameters(self, layer: Any) -> dict[str, Parameter]:
        """Return the arrays of floats that it holds."""
        return {
            path: Parameter(tuple(value.shape), None, type(holder).__name__)
            for path, holder, _, value in _arrays(layer)
            if value.ndim and np.dtype(_dtype_name(value)).kind in "fV"
        }

    def fill(self, layer: Any, values: Mapping[str, NDArray[Any]]) -> None:
        """Put arrays in place of those that it holds."""
        for path, holder, name, value in list(_arrays(layer)):
            if path in values:
                _put(holder, name, _like(np.array(values[path]), value))

    def state(self, layer: Any) -> Any:
        """Return a copy of all that it holds."""
        return copy.deepcopy(attributes_of(layer))

    def reset(self, layer: Any, state: Any) -> None:
        """Put back what it had."""
        attributes_of(layer).clear()
        attributes_of(layer).update(copy.deepcopy(state))

    def called(self, layer: Any, given: Sequence[Any], named: Mapping[str, Any], dtype: str) -> Any:
        """Call it with arrays of the kind that it holds."""
        del dtype
        example = next((value for _, _, _, value in _arrays(layer)), None)
        run = layer if callable(layer) else layer.forward

        def tensor(value: Any) -> Any:
            return _like(value, example) if is_array(value) else value

        def array(value: Any) -> Any:
            library = _library(value)
            return value if library is None else tensors_called(library, None, said_by="the layer").array(value)

        return with_tensors(run(*with_tensors(list(given), tensor), **with_tensors(dict(named), tensor)), array)


def _library(value: Any) -> str | None:
    name = type(value).__module__.partition(".")[0]
    return _LIBRARIES.get(name) if hasattr(value, "shape") else None


def _arrays(layer: Any) -> Iterator[tuple[str, Any, str, Any]]:
    own = type(layer).__module__
    return walked(
        layer,
        lambda value: is_array(value) or _library(value) is not None,
        lambda value: type(value).__module__ == own or (hasattr(value, "__dict__") and not callable(value)),
    )


def _dtype_name(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _like(array: Any, example: Any) -> Any:
    """Return an array as a tensor of the library of another."""
    library = _library(example)
    return array if library is None else tensors_called(library, None, said_by="the layer").given(array)


def _put(holder: Any, name: str, value: Any) -> None:
    if is_dict(holder):
        holder[name] = value
    elif isinstance(holder, list):
        holder[int(name)] = value
    else:
        setattr(holder, name, value)


LIBRARY = Plain()
