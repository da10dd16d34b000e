"""A layer as multi-head attention: made once for each shape, filled with the matrices of a case, and called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import numpy_dtype
from attnspec_modules.attention.constructing import Sizes, made_with
from attnspec_modules.attention.layer_reading import MATRICES, Reading
from attnspec_modules.attention.masking import CannotSayError, fitting_mask
from attnspec_modules.attention.placing import filled
from attnspec_modules.attention.rotating import neutral, without_rotation
from attnspec_modules.libraries import Library, Parameter

_SHORTEST = 64
"""Tokens for which a layer is made where cases have fewer: one layer then serves them all."""

_MOST_KEPT = 64
"""Layers that are kept for other cases of their shape."""


class Made(NamedTuple):
    """A layer, the parameters it holds, and its state before any call."""

    layer: Any
    parameters: Mapping[str, Parameter]
    state: Any


class Call(NamedTuple):
    """Tokens (B, S, D), and what may be attended: `mask` is None, or truth values or numbers of rank 4."""

    query: NDArray[Any]
    key: NDArray[Any]
    value: NDArray[Any]
    mask: NDArray[Any] | None = None
    is_causal: bool = False


class LayerRunner:
    """Runs layers of a class as they are read; `raw` gives arguments of the call beside those of the reading."""

    def __init__(self, layer_class: type, library: Library, reading: Reading) -> None:
        self.layer_class, self.library, self.reading = layer_class, library, reading
        self._made: dict[tuple[Any, ...], Made] = {}

    def made(self, sizes: Sizes, dtype: str) -> Made:
        """Return a layer for shapes and a dtype, which is made anew where there is none."""
        if (sizes, dtype) not in self._made:
            keywords = made_with(self.reading.constructor, sizes)
            layer = self.library.made(self.layer_class, keywords, dtype)
            if not self.library.parameters(layer):
                # Its variables appear in the first call.
                tokens = np.zeros((1, 2, sizes.width), numpy_dtype(dtype))
                self.library.called(layer, *self._arguments(Call(tokens, tokens, tokens), sizes), dtype)
            if self.reading.rotation:
                without_rotation(layer)
            if len(self._made) >= _MOST_KEPT:
                self._made.clear()
            self._made[sizes, dtype] = Made(layer, self.library.parameters(layer), self.library.state(layer))
        return self._made[sizes, dtype]

    def run(
        self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int, raw: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the output (B, Sq, D) of a call, and the weights of each head, if they are returned."""
        dtype = call.query.dtype.name
        made = self.ready(call, weights, heads)
        given, named = self._arguments(call, self._sizes(call, heads), raw)
        try:
            if self.reading.forward.cache is not None and _can_grow(call, self.reading):
                return self._grown(made, call, self._sizes(call, heads)), None
            returned = self.library.called(made.layer, given, named, dtype)
        finally:
            self.library.reset(made.layer, made.state)
        return self._read(returned, call, heads)

    def ready(self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int) -> Made:
        """Return a layer for a call, filled with its weights."""
        made = self.made(self._sizes(call, heads), call.query.dtype.name)
        shapes = {name: parameter.shape for name, parameter in made.parameters.items()}
        width = call.query.shape[-1]
        zeros = {
            name: np.zeros((width,) * (2 if name in MATRICES else 1), call.query.dtype) for name in self.reading.tensors
        }
        self.library.fill(made.layer, filled(self.reading.parameters, shapes, {**zeros, **weights}, heads))
        return made

    def _sizes(self, call: Call, heads: int) -> Sizes:
        longest = max(call.query.shape[-2], call.key.shape[-2], _SHORTEST)
        causal = call.is_causal if self.reading.causality == "constructor" else False
        return Sizes(call.query.shape[-1], heads, longest, max(call.query.shape[0], 8), causal)

    def _arguments(
        self, call: Call, sizes: Sizes, raw: Mapping[str, Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        forward = self.reading.forward
        named: dict[str, Any] = {
            name: neutral(value, call.query.shape, call.key.shape, sizes) for name, value in forward.fixed.items()
        }
        tokens = {"query": call.query, "x": call.query, "key": call.key, "value": call.value, "context": call.key}
        for name, role in forward.tokens.items():
            named[name] = self._laid_out(tokens[role])
        if forward.listed:
            (name,) = forward.tokens
            named[name] = [self._laid_out(tokens[role]) for role in forward.listed]
        if forward.causal is not None and self.reading.causality == "argument":
            named[forward.causal] = call.is_causal
        if raw is None:
            named |= self._mask(call, sizes.heads)
        else:
            named |= {form.name: None for form in self.reading.masks if form.needed} | dict(raw)
        return [], named

    def _mask(self, call: Call, heads: int) -> dict[str, Any]:
        causal = call.is_causal and self.reading.causality == "mask"
        shape = (call.query.shape[0], heads, call.query.shape[1], call.key.shape[1])
        try:
            return fitting_mask(self.reading.masks, call.mask, shape, call.query.dtype, causal=causal)
        except CannotSayError as reason:
            raise Unsupported(str(reason)) from None

    def _laid_out(self, tokens: NDArray[Any]) -> NDArray[Any]:
        forward = self.reading.forward
        if forward.rank == 2:
            if tokens.shape[0] != 1:
                raise Unsupported("it takes tokens (S, D) without a batch")
            return tokens[0]
        return tokens if forward.batch_first else tokens.swapaxes(0, 1)

    def _read(self, returned: Any, call: Call, heads: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        forward = self.reading.forward
        entries = list(returned.values()) if isinstance(returned, dict) else returned
        output = entries if forward.output is None else entries[forward.output]
        if forward.rank == 2 and getattr(output, "ndim", 0) == 2:
            output = output[np.newaxis]
        elif not forward.batch_first and getattr(output, "ndim", 0) == 3:
            output = output.swapaxes(0, 1)
        weights = None if forward.weights is None else entries[forward.weights]
        expected = (call.query.shape[0], heads, call.query.shape[1], call.key.shape[1])
        if weights is not None and weights.shape != expected:
            weights = None
        return output, weights

    def _grown(self, made: Made, call: Call, sizes: Sizes) -> NDArray[Any]:
        raise NotImplementedError


def _can_grow(call: Call, reading: Reading) -> bool:
    del call, reading
    return False
