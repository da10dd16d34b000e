"""PyTorch's modules: in evaluation, without gradients, in a dtype of their own."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.tensors.of_torch import to_array, to_tensor, torch
from attnspec_modules.libraries.kinds import attributes_of, is_array
from attnspec_modules.libraries.library import Parameter, with_tensors


class Torch:
    """Layers of ``torch.nn``."""

    evaluates = True

    @contextmanager
    def without_dropout(self) -> Generator[None]:
        """Have the function of dropout give back what it is given."""
        before = torch.nn.functional.dropout
        torch.nn.functional.dropout = _kept
        try:
            yield
        finally:
            torch.nn.functional.dropout = before

    def made(self, layer_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make a module whose parameters and buffers have the dtype."""
        with _default(dtype), torch.random.fork_rng(devices=[]):
            layer = layer_class(**keywords).eval()
        # A module as a whole would lose the imaginary part of a table of rotations.
        for tensor in (*layer.parameters(), *layer.buffers(), *_attributes(layer)):
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(getattr(torch, dtype))
        return layer

    def beside(self, object_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make an object whose tensors, if they say no other, have the dtype."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            return object_class(**keywords)
        finally:
            torch.set_default_dtype(before)

    def parameters(self, layer: Any) -> dict[str, Parameter]:
        """Return the parameters; those of Linear are applied transposed."""
        owners = dict(layer.named_modules())
        found: dict[str, Parameter] = {}
        for name, tensor in layer.named_parameters():
            owner = owners[name.rpartition(".")[0]]
            is_linear = isinstance(owner, torch.nn.Linear | torch.nn.MultiheadAttention)
            found[name] = Parameter(tuple(tensor.shape), True if is_linear else None, type(owner).__name__)
        return found

    def fill(self, layer: Any, values: Mapping[str, NDArray[Any]]) -> None:
        """Copy numbers into parameters."""
        with torch.no_grad():
            parameters = dict(layer.named_parameters())
            for name, array in values.items():
                parameters[name].copy_(to_tensor(np.ascontiguousarray(array), "cpu"))

    def state(self, layer: Any) -> Any:
        """Return what may change in a call: buffers and plain attributes, such as caches."""
        return [(module, _copied(attributes_of(module)), _copied(module._buffers)) for module in layer.modules()]

    def reset(self, layer: Any, state: Any) -> None:
        """Make a module forget the calls since its state was taken."""
        del layer
        for module, attributes, buffers in state:
            for name in attributes_of(module).keys() - attributes.keys() - _REGISTERED:
                del attributes_of(module)[name]
            attributes_of(module).update(_copied(attributes))
            module._buffers.update(_copied(buffers))

    def called(self, layer: Any, given: Sequence[Any], named: Mapping[str, Any], dtype: str) -> Any:
        """Call a module."""
        with _default(dtype), torch.no_grad():
            returned = layer(*with_tensors(list(given), _tensor), **with_tensors(dict(named), _tensor))
            return with_tensors(returned, _array)


_REGISTERED = {"_parameters", "_buffers", "_modules"}


def _attributes(layer: Any) -> list[Any]:
    return [
        value
        for module in layer.modules()
        for value in attributes_of(module).values()
        if isinstance(value, torch.Tensor)
    ]


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in values.items()
        if name not in _REGISTERED
    }


def _kept(tensor: Any, *rate: Any, **how: Any) -> Any:
    del rate, how
    return tensor


def _tensor(value: Any) -> Any:
    return to_tensor(value, "cpu") if is_array(value) else value


def _array(value: Any) -> Any:
    return to_array(value) if isinstance(value, torch.Tensor) else value


@contextmanager
def _default(dtype: str) -> Generator[None]:
    """Have numbers without a dtype of their own be as precise as float64; half precision leaves them at float32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if dtype == "float64" else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


LIBRARY = Torch()
