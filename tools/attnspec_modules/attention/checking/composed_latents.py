"""Layer of latent attention as the reference has it, put together from its operations, with one thing done otherwise.

Tokens and matrices are such that every usual mistake shows: heads and all widths differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import numpy_dtype
from attnspec_modules.attention.checking.composed_attention import TOKENS, Sample, rotated
from attnspec_modules.attention.checking.norm_mistakes import Norm, normalized
from attnspec_modules.attention.latents.latent_weights import shape_of, tensors_of
from attnspec_modules.attention.latents.latent_widths import Needed, widths_for
from attnspec_modules.attention.layer_reading import Reading, Rotation
from attnspec_reference import latent_attention

Array = NDArray[Any]

NEEDED = Needed(heads=3, content=8, rotary=4, value=10, latent=14, tokens=66, query_latent=20)
"""Features of a layer that is looked at: no two tensors have the same shape where no width follows from another."""

_BATCH = 2
_SEED = 20_261_130
_SPREAD = 1.3


@dataclass(frozen=True)
class LatentSteps:
    """Steps of a layer around latent attention, each of which may be a mistake.

    `norms` are those of latents, by ``latent`` and ``query_latent``; `turned` are the parts that `rotation` turns.
    `over_heads`: queries are turned by their heads, and not by their tokens.
    """

    rotation: Rotation | None = None
    norms: tuple[tuple[str, Norm], ...] = ()
    turned: tuple[str, ...] = ("rotary", "key_rotary")
    over_heads: bool = False

    def norm_of(self, name: str) -> Norm | None:
        """Return the norm of latents, where there is one."""
        return dict(self.norms).get(name)


def latent_sample(reading: Reading, dtype: str | None = None) -> Sample:
    """Return tokens and tensors for a layer of latent attention."""
    assert reading.latents is not None
    kept = {name for placement in reading.parameters.values() for name in placement.tensors}
    rotary = NEEDED.rotary if reading.latents.has_rotary else 0
    chosen = widths_for(reading.latents, NEEDED._replace(rotary=rotary))
    has_query_down, heads = "query_down" in kept, NEEDED.heads
    numbers, rng = numpy_dtype(dtype or reading.dtypes[0]), np.random.default_rng(_SEED)
    batch = 1 if reading.forward.rank == 2 else _BATCH
    tokens = rng.normal(size=(batch, TOKENS, chosen.tokens)).astype(numbers)
    weights: dict[str, Array] = {}
    for name in sorted(tensors_of(reading.latents, has_query_down=has_query_down) | {"rotary", "key_rotary"}):
        shape = shape_of(name, chosen.widths, chosen.tokens, heads, has_query_down=has_query_down)
        inner = shape[0] * shape[1] if name == "output" else shape[0]
        weights[name] = (rng.normal(size=shape) * _SPREAD / np.sqrt(inner)).astype(numbers)
    return Sample(tokens, weights, heads, heads, reading.causality == "built in")


def composed_latents(sample: Sample, steps: LatentSteps) -> Array:
    """Return the output (B, S, D) of a layer whose steps are these."""
    wide = {name: array.astype(np.float64) for name, array in sample.weights.items()}
    tokens = sample.tokens.astype(np.float64)
    of_queries = tokens
    if "query_down" in wide:
        of_queries = normalized(tokens @ wide["query_down"], steps.norm_of("query_latent"))
    latent = normalized(tokens @ wide["latent"], steps.norm_of("latent"))
    parts = {
        "content": np.einsum("bsd,dhe->bhse", of_queries, wide["content"]),
        "rotary": np.einsum("bsd,dhe->bhse", of_queries, wide["rotary"]),
        "key_rotary": (tokens @ wide["key_rotary"])[:, np.newaxis],
    }
    if steps.rotation is not None and parts["rotary"].shape[-1]:
        for name in steps.turned:
            parts[name] = _turned(parts[name], steps.rotation, over_heads=steps.over_heads and name != "key_rotary")
    context = latent_attention(
        parts["content"],
        parts["rotary"],
        latent,
        parts["key_rotary"][:, 0],
        wide["up_key"].transpose(1, 0, 2),
        wide["up_value"].transpose(1, 0, 2),
        is_causal=sample.is_causal,
    ).output
    return np.einsum("bhse,hed->bsd", context, wide["output"])


def _turned(array: Array, rotation: Rotation, *, over_heads: bool) -> Array:
    if not over_heads:
        return rotated(array, rotation, range(array.shape[2]))
    return rotated(array.swapaxes(1, 2), rotation, range(array.shape[1])).swapaxes(1, 2)


def rotary_mistakes_of_latents(right: LatentSteps) -> Iterator[tuple[str, LatentSteps]]:
    """Yield sentences, without an end, on what is rotated wrongly, and the steps that do so."""
    rotation = right.rotation
    if rotation is None:
        return
    yield (
        "rotary positions have no effect: neither the rotary part of queries nor the shared key is rotated",
        replace(right, turned=()),
    )
    yield "the shared key is not rotated, and the queries are", replace(right, turned=("rotary",))
    yield "the queries are not rotated, and the shared key is", replace(right, turned=("key_rotary",))
    yield (
        "the other part of the queries is rotated, too, and not the rotary one alone",
        replace(right, turned=("content", "rotary", "key_rotary")),
    )
    yield "queries are rotated by their heads, and not by their tokens", replace(right, over_heads=True)
    for base in (100.0, 1000.0, 10_000.0, 500_000.0, 1_000_000.0):
        if base != rotation.theta:
            sentence = f"the base of the frequencies is {base:g}, and not {rotation.theta:g}"
            yield sentence, replace(right, rotation=replace(rotation, theta=base))
