"""Keras layers, on the backend with which Keras was imported; their variables appear in the first call."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.tensors.libraries import import_library
from attnspec_modules.libraries.kinds import is_array
from attnspec_modules.libraries.library import Parameter, with_tensors
from attnspec_modules.libraries.walking import walked

keras = import_library("keras", adapter="keras")


class Keras:
    """Layers of ``keras.layers``."""

    evaluates = True

    def without_dropout(self) -> AbstractContextManager[None]:
        """Leave it as it is."""
        return nullcontext()

    def made(self, layer_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make a layer for numbers of the dtype."""
        with _numbers(dtype):
            return layer_class(**keywords)

    def beside(self, object_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make an object."""
        with _numbers(dtype):
            return object_class(**keywords)

    def parameters(self, layer: Any) -> dict[str, Parameter]:
        """Return the variables that are trained; kernels are applied as they stand."""
        return {
            path: Parameter(tuple(variable.shape), False if path.endswith("kernel") else None, type(holder).__name__)
            for path, holder, _, variable in _variables(layer)
            if variable.trainable
        }

    def fill(self, layer: Any, values: Mapping[str, NDArray[Any]]) -> None:
        """Put numbers into variables."""
        for path, _, _, variable in _variables(layer):
            if path in values:
                array = np.ascontiguousarray(values[path])
                variable.assign(_tensor(array))

    def state(self, layer: Any) -> Any:
        """Return the values of all variables."""
        return [(variable, keras.ops.copy(variable.value)) for _, _, _, variable in _variables(layer)]

    def reset(self, layer: Any, state: Any) -> None:
        """Put back the values of variables."""
        del layer
        for variable, value in state:
            variable.assign(value)

    def called(self, layer: Any, given: Sequence[Any], named: Mapping[str, Any], dtype: str) -> Any:
        """Call a layer."""
        with _numbers(dtype):
            returned = layer(*with_tensors(list(given), _tensor), **with_tensors(dict(named), _tensor))
            return with_tensors(returned, _array)


def _variables(layer: Any) -> Iterator[tuple[str, Any, str, Any]]:
    return walked(
        layer, lambda value: isinstance(value, keras.Variable), lambda value: isinstance(value, keras.layers.Layer)
    )


def _tensor(value: Any) -> Any:
    return keras.ops.convert_to_tensor(value, dtype=value.dtype.name) if is_array(value) else value


def _array(value: Any) -> Any:
    if not keras.ops.is_tensor(value):
        return value
    if keras.backend.backend() == "torch":
        from attnspec.tensors.of_torch import to_array

        return to_array(value)
    return np.asarray(value)


def _without_gradients() -> Any:
    if keras.backend.backend() == "torch":
        from attnspec.tensors.of_torch import torch

        return torch.no_grad()
    return nullcontext()


@contextmanager
def _numbers(dtype: str) -> Generator[None]:
    """Have layers be made and called in a dtype, and say nothing of masks that Keras attaches to tensors."""
    floatx, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    try:
        with warnings.catch_warnings(), _without_gradients():
            warnings.simplefilter("ignore")
            yield
    finally:
        keras.config.set_floatx(floatx)
        keras.config.set_dtype_policy(policy)


LIBRARY = Keras()
