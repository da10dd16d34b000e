"""A layer as multi-head attention: made once for each shape, filled with the matrices of a case, and called."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import numpy_dtype
from attnspec_modules.attention.around import (
    filled_norms,
    is_inside,
    made_louder,
    normalising_parts,
    subtracted,
    without_normalisations,
)
from attnspec_modules.attention.caches import cache_in, contents, first_cache
from attnspec_modules.attention.constructing import Sizes, globals_with, made_with, scope_of
from attnspec_modules.attention.layer_reading import BIASES, MATRICES, Forward, Reading, Rotation
from attnspec_modules.attention.masking import CannotSayError, fitting_mask, nothing_hidden
from attnspec_modules.attention.placing import filled, of_each_head, projected
from attnspec_modules.attention.rotating import (
    is_rotary,
    is_table,
    leaves_rotation_out,
    rotating_functions,
    standing_still,
    still,
    table_of,
)
from attnspec_modules.libraries import Library, Parameter
from attnspec_modules.libraries.kinds import entries_of

_SHORTEST = 64
"""Tokens for which a layer is made where cases have fewer: one layer then serves them all."""

_MOST_KEPT = 64
"""Layers that are kept for other cases of their shape."""


class Made(NamedTuple):
    """A layer, the parameters it holds, its state before any call, whether it has positions inside, and rotary ones.

    `normalises` are parts of it that normalize, and `norms` their parameters, filled where they are not left out.
    """

    layer: Any
    parameters: Mapping[str, Parameter]
    state: Any
    has_positions: bool
    rotates: bool
    normalises: tuple[str, ...] = ()
    norms: Mapping[str, Parameter] = {}


class Grown(NamedTuple):
    """Output (B, S, D) of tokens that came in parts, and whether a call left anything behind."""

    output: NDArray[Any]
    keeps: bool


class Call(NamedTuple):
    """Tokens (B, S, D), and what may be attended: `mask` is None, or truth values or numbers of rank 4."""

    query: NDArray[Any]
    key: NDArray[Any]
    value: NDArray[Any]
    mask: NDArray[Any] | None = None
    is_causal: bool = False

    def entries(self) -> Iterator[Call]:
        """Give a call for each entry of the batch."""
        for number in range(self.query.shape[0]):
            query, key, value = (tokens[number : number + 1] for tokens in self[:3])
            is_shared = self.mask is None or self.mask.ndim < 4 or self.mask.shape[0] == 1
            mask = self.mask if is_shared or self.mask is None else self.mask[number : number + 1]
            yield Call(query, key, value, mask, self.is_causal)


class LayerRunner:
    """Runs layers of a class as they are read; `raw` gives arguments of the call beside those of the reading.

    Positions inside are left out, unless there is a `rotation`, of which tables are given that the call demands; so
    are norms, but for those of the parts that it `normalizes`.
    """

    def __init__(
        self,
        layer_class: type,
        library: Library,
        reading: Reading,
        rotation: Rotation | None = None,
        *,
        normalizes: tuple[str, ...] = (),
    ) -> None:
        self.layer_class, self.library, self.reading, self.rotation = layer_class, library, reading, rotation
        self.normalizes = normalizes
        self._made: dict[tuple[Any, ...], Made] = {}
        self._rotating = rotating_functions(layer_class)

    def with_forward(self, forward: Forward) -> Self:
        """Return a runner of the same layer that is called otherwise."""
        reading = replace(self.reading, forward=forward)
        return type(self)(self.layer_class, self.library, reading, self.rotation, normalizes=self.normalizes)

    def rotating(self, rotation: Rotation | None) -> Self:
        """Return a runner of the same layer with its rotary positions."""
        return type(self)(self.layer_class, self.library, self.reading, rotation, normalizes=self.normalizes)

    def normalizing(self, parts: Iterable[str]) -> Self:
        """Return a runner of the same layer with some of its norms."""
        return type(self)(self.layer_class, self.library, self.reading, self.rotation, normalizes=(*parts,))

    def made(self, sizes: Sizes, dtype: str) -> Made:
        """Return a layer for shapes and a dtype, which is made anew where there is none."""
        if (sizes, dtype) not in self._made:
            keywords = made_with(self.reading.constructor, sizes)
            with self._around(sizes):
                layer = self.library.made(self.layer_class, keywords, dtype)
                if not self.library.parameters(layer):
                    # Its variables appear in the first call.
                    tokens = np.zeros((1, 2, sizes.width), numpy_dtype(dtype))
                    self.library.called(layer, [], self._arguments(Call(tokens, tokens, tokens), sizes, {}), dtype)
            given = any(map(is_table, self.reading.forward.fixed.values()))
            rotates = is_rotary(layer) or bool(self._rotating) or given or leaves_rotation_out(self.layer_class)
            has_positions = (self.rotation is None and still(layer)) or rotates
            if len(self._made) >= _MOST_KEPT:
                self._made.clear()
            normalises = tuple(normalising_parts(layer))
            without_normalisations(layer, self.normalizes)
            parameters = self.library.parameters(layer)
            norms = {path: parameters.pop(path) for path in list(parameters) if is_inside(path, normalises)}
            state = self.library.state(layer)
            self._made[sizes, dtype] = Made(layer, parameters, state, has_positions, rotates, normalises, norms)
        return self._made[sizes, dtype]

    @contextmanager
    def _around(self, sizes: Sizes) -> Generator[None]:
        """Have the layer's file hold the numbers of a case where it is made with them, and rotate nothing."""
        scope = scope_of(self.layer_class)
        changed = globals_with(self.reading.constructor, sizes)
        if self.rotation is None:
            changed |= standing_still(scope, self._rotating)
        before = {name: scope[name] for name in changed}
        scope.update(changed)
        try:
            yield
        finally:
            scope.update(before)

    def run(
        self,
        call: Call,
        weights: Mapping[str, NDArray[Any]],
        heads: int,
        raw: Mapping[str, Any] | None = None,
        *,
        begin: int = 0,
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the output (B, Sq, D) of a call, and the weights of each head, if they are returned.

        The first token stands at position `begin`, where the layer takes it. A layer of tokens without a batch gets the
        entries one after another.
        """
        if self.reading.forward.rank == 2 and call.query.shape[0] > 1 and not raw:
            parts = [self.run(each, weights, heads, raw, begin=begin) for each in call.entries()]
            shares = [of_entry for _, of_entry in parts if of_entry is not None]
            together = np.concatenate(shares) if len(shares) == len(parts) else None
            return np.concatenate([output for output, _ in parts]), together
        if heads > 1 and self.reading.runs_head_by_head:
            return self._head_by_head(call, weights, heads, raw)
        louder, factor = self._louder(weights)
        output, shares, made = self._ran(call, louder, heads, raw, begin)
        if self.reading.residual:
            large = output.astype(np.float64)
            output = subtracted(output, call.query, factor)
            if not np.isfinite(large).all():
                # It may be too large alone.
                plain = subtracted(self._ran(call, weights, heads, raw, begin)[0], call.query, 1.0)
                output = np.where(np.isfinite(large), output, plain)
        return self._beside_output(made, output, weights), shares

    def _louder(self, weights: Mapping[str, NDArray[Any]]) -> tuple[Mapping[str, NDArray[Any]], float]:
        """Return weights with which the output is larger than the tokens to which it is added, and how much larger."""
        last = "w_output" if "w_output" in self.reading.tensors else "w_value"
        return made_louder(weights, last) if self.reading.residual and last in weights else (weights, 1.0)

    def adds_tokens(self, call: Call, sizes: Sizes) -> bool:
        """Return whether a layer gives back the tokens themselves where all its parameters are 0."""
        made, dtype = self.made(sizes, call.query.dtype.name), call.query.dtype
        self.library.fill(made.layer, {path: np.zeros(each.shape, dtype) for path, each in made.parameters.items()})
        try:
            with self._around(sizes):
                output, _, _ = self._called(made, call, sizes, self._arguments(call, sizes, {}))
        finally:
            self.library.reset(made.layer, made.state)
        return output.shape == call.query.shape and np.array_equal(output, call.query)

    def _ran(
        self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int, raw: Mapping[str, Any] | None, begin: int
    ) -> tuple[NDArray[Any], NDArray[Any] | None, Made]:
        """Return output and weights of a call, and the layer that was filled for it."""
        sizes = self._sizes(call, heads, weights)
        made = self.ready(call, weights, heads)
        try:
            with self._around(sizes):
                named = self._arguments(call, sizes, raw)
                if begin and self.reading.forward.position is not None:
                    named[self.reading.forward.position] = begin
                output, shares, _ = self._called(made, call, sizes, named)
        finally:
            self.library.reset(made.layer, made.state)
        return output, shares, made

    def _beside_output(self, made: Made, output: NDArray[Any], weights: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return an output times the case's matrix and plus its bias, where the layer has none."""
        if "w_output" in weights and not _fills(self.reading, made, "w_output"):
            return projected(output, weights["w_output"], weights.get("b_output"))
        if "b_output" in weights and not _fills(self.reading, made, "b_output"):
            return (output.astype(np.float64) + weights["b_output"].astype(np.float64)).astype(output.dtype)
        return output

    def _head_by_head(
        self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int, raw: Mapping[str, Any] | None
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return output and weights of several heads, each of which is the layer with a part of the features."""
        inputs = {name: np.split(array, heads, axis=-1) for name, array in weights.items() if "output" not in name}
        of_heads = call.mask is not None and call.mask.ndim > 2 and call.mask.shape[-3] > 1
        outputs: list[NDArray[Any]] = []
        shares: list[NDArray[Any]] = []
        for head in range(heads):
            mask = call.mask[..., head : head + 1, :, :] if of_heads and call.mask is not None else call.mask
            of_head = {name: parts[head] for name, parts in inputs.items()}
            output, of_weights = self.run(call._replace(mask=mask), of_head, 1, raw)
            outputs.append(output)
            shares += [] if of_weights is None else [of_weights]
        joined = np.concatenate(outputs, axis=-1)
        if "w_output" in weights:
            joined = projected(joined, weights["w_output"], weights.get("b_output"))
        return joined, np.concatenate(shares, axis=1) if len(shares) == heads else None

    def tried(
        self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int, raw: Mapping[str, Any] | None = None
    ) -> NDArray[Any] | None:
        """Return the output of a call that the layer may not stand; None where it raises."""
        try:
            return self.run(call, weights, heads, raw)[0]
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None

    def returned(self, made: Made, call: Call, sizes: Sizes) -> Any:
        """Return all that a call gives back, without any mask."""
        try:
            with self._around(sizes):
                return self.library.called(made.layer, [], self._arguments(call, sizes, {}), call.query.dtype.name)
        finally:
            self.library.reset(made.layer, made.state)

    def _called(
        self, made: Made, call: Call, sizes: Sizes, named: Mapping[str, Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None, Any]:
        """Return output and weights of a call, and all that it returned."""
        returned = self.library.called(made.layer, [], named, call.query.dtype.name)
        return *self._read(returned, call, sizes.heads), returned

    def run_in_parts(
        self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int, parts: Sequence[tuple[int, int]]
    ) -> Grown:
        """Return what causal tokens give that come in parts, from one position to another, by the cache.

        A part of one token alone needs no causality: it is the last one.
        """
        forward, sizes = self.reading.forward, self._sizes(call, heads, weights)
        assert forward.grows is not None
        louder, factor = self._louder(weights)
        made = self.ready(call, louder, heads)
        outputs: list[NDArray[Any]] = []
        try:
            with self._around(sizes):
                cache = first_cache(forward.begins, self.layer_class, self.library, sizes, call.query.dtype.name)
                before = contents((self.library.state(made.layer), cache))
                for begin, end in parts:
                    query, key, value = (array[:, begin:end] for array in call[:3])
                    part = Call(query, key, value, None, is_causal=end - begin > 1)
                    named = self._arguments(part, sizes, past=begin) | dict.fromkeys(forward.switched, True)
                    if forward.position is not None:
                        named[forward.position] = begin
                    if forward.cache is not None:
                        named[forward.cache] = cache
                    output, _, returned = self._called(made, part, sizes, named)
                    cache = cache if (kept := cache_in(returned, forward)) is None else kept
                    outputs.append(output)
                keeps = contents((self.library.state(made.layer), cache)) != before
        finally:
            self.library.reset(made.layer, made.state)
        output = np.concatenate(outputs, axis=1)
        output = subtracted(output, call.query, factor) if self.reading.residual else output
        return Grown(self._beside_output(made, output, weights), keeps)

    def ready(self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int) -> Made:
        """Return a layer for a call, filled with its weights."""
        sizes = self._sizes(call, heads, weights)
        made = self.made(sizes, call.query.dtype.name)
        shapes = {name: parameter.shape for name, parameter in made.parameters.items()}
        width, dtype = call.query.shape[-1], call.query.dtype
        zeros: dict[str, NDArray[Any]] = {}
        for matrix, bias in zip(MATRICES, BIASES, strict=True):
            zeros[matrix] = np.zeros((width, width), dtype)
            zeros[bias] = np.zeros(weights.get(matrix, zeros[matrix]).shape[-1], dtype)
        given = {**zeros, **weights}
        if not self.reading.takes_one_context(call.key, call.value):
            # Keys and values stand side by side in the tokens of the context.
            nothing = np.zeros((width, width), dtype)
            given["w_key"] = np.concatenate([given["w_key"], nothing])
            given["w_value"] = np.concatenate([nothing, given["w_value"]])
        numbers = filled(self.reading.parameters, shapes, given, heads, sizes.kv_heads or heads)
        self.library.fill(made.layer, numbers | filled_norms(made.norms, self.normalizes, dtype))
        return made

    def _sizes(self, call: Call, heads: int, weights: Mapping[str, NDArray[Any]]) -> Sizes:
        longest = max(call.query.shape[-2], call.key.shape[-2], _SHORTEST)
        causal = call.is_causal if self.reading.causality == "constructor" else False
        width = call.query.shape[-1]
        widths = {name: weights[name].shape[-1] if name in weights else width for name in MATRICES[:3]}
        keys, values = (None if widths[name] == width else widths[name] for name in ("w_query", "w_value"))
        context = None if self.reading.takes_one_context(call.key, call.value) else 2 * width
        batch = max(call.query.shape[0], 8)
        sizes = Sizes(width, heads, longest, batch, causal, keys, values, context, self.reading.dropout)
        if heads > 1 and widths["w_key"] != widths["w_query"]:
            # Heads of queries share those of keys and values.
            sizes = sizes._replace(values=None, kv_heads=widths["w_key"] * heads // widths["w_query"])
        return sizes if self.rotation is None else sizes._replace(theta=self.rotation.theta)

    def _arguments(
        self, call: Call, sizes: Sizes, raw: Mapping[str, Any] | None = None, past: int = 0
    ) -> dict[str, Any]:
        """Return the arguments of a call, before which so many tokens came in others."""
        forward = self.reading.forward
        positions = range(past, past + call.query.shape[-2])
        named: dict[str, Any] = {
            name: table_of(value, positions, sizes, call.query.dtype, self.rotation)
            for name, value in forward.fixed.items()
        }
        context = call.key if sizes.context is None else np.concatenate([call.key, call.value], axis=-1)
        tokens = {"query": call.query, "x": call.query, "key": call.key, "value": call.value, "context": context}
        for name, role in forward.tokens.items():
            named[name] = self._laid_out(tokens[role])
        if forward.listed:
            (name,) = forward.tokens
            named[name] = [self._laid_out(tokens[role]) for role in forward.listed]
        if forward.causal is not None and self.reading.causality == "argument":
            named[forward.causal] = call.is_causal
        if raw is None:
            named |= self._mask(call, sizes.heads, past)
        else:
            needed = (form for form in self.reading.masks if form.needed)
            named |= {form.name: nothing_hidden(form, call.key) for form in needed} | dict(raw)
        return named

    def _mask(self, call: Call, heads: int, past: int) -> dict[str, Any]:
        replaces = self.reading.causality == "unless masked"
        causal = call.is_causal and (self.reading.causality == "mask" or (replaces and call.mask is not None))
        mask = np.ones((1,) * 4, np.bool_) if replaces and call.mask is None and not call.is_causal else call.mask
        shape = (call.query.shape[0], heads, call.query.shape[1], past + call.key.shape[1])
        try:
            return fitting_mask(self.reading.masks, mask, shape, call.query.dtype, causal=causal, past=past)
        except CannotSayError as reason:
            raise Unsupported(str(reason)) from None

    def _laid_out(self, tokens: NDArray[Any]) -> NDArray[Any]:
        forward = self.reading.forward
        if forward.rank == 2:
            if tokens.shape[0] != 1:
                raise Unsupported("it takes tokens (S, D) without a batch")
            return tokens[0] if forward.batch_first else tokens[0].T
        return tokens if forward.batch_first else tokens.swapaxes(0, 1)

    def _read(self, returned: Any, call: Call, heads: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        forward = self.reading.forward
        entries = entries_of(returned)
        output = entries[forward.output or 0]
        if forward.rank == 2 and getattr(output, "ndim", 0) == 2:
            output = (output if forward.batch_first else output.T)[np.newaxis]
        elif not forward.batch_first and getattr(output, "ndim", 0) == 3:
            output = output.swapaxes(0, 1)
        weights = None if forward.weights is None else entries[forward.weights]
        expected = (call.query.shape[0], heads, call.query.shape[1], call.key.shape[1])
        if weights is not None and heads == 1 and weights.shape in (expected[2:], (expected[0], *expected[2:])):
            weights = weights.reshape(expected)
        # Weights that are kept in less than the output has are no output of the operation.
        if weights is not None and (weights.shape != expected or weights.dtype.itemsize < output.dtype.itemsize):
            weights = None
        return output, weights


def _fills(reading: Reading, made: Made, name: str) -> bool:
    """Return whether a layer, as it was made, has a parameter for a matrix; one head may do without its output's."""
    patterns = {path: of_each_head(path)[0] for path in made.parameters}
    found = (reading.parameters.get(path) or reading.parameters.get(pattern) for path, pattern in patterns.items())
    return any(name in placement.tensors for placement in found if placement is not None)
