"""The forward half of attention, which the backward pass needs as well: scores, who may attend to what, the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.logits import ExactLogits, Scale, exact_logits, scale_for
from attnspec_oracle.attention.placement import placed
from attnspec_oracle.attention.softmax import Softmax
from attnspec_oracle.exact import ExactArray, add, exact_array, joined, matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Attending:
    """Queries and keys of one call, compared.

    Attributes
    ----------
    softmax
        (B, Hq, Sq, columns). The columns are the keys and, where there is one, the sink.
    dots
        (B, Hq, Sq, keys): dot products.
    scale
        Their factor.
    addends
        ALiBi and float mask, of a shape that broadcasts to that of the dot products.
    softcap
        The c of ``c * tanh(score / c)``; None and 0 for none.
    attended
        bool, (B, Hq, Sq, keys): whether a key may be attended; what padding would attend to, too.
    live
        bool, (B, 1, Sq, 1): whether a query is no padding.
    """

    softmax: Softmax
    dots: ExactArray
    scale: Scale
    addends: ExactArray
    softcap: float | None
    attended: NDArray[np.bool_]
    live: NDArray[np.bool_]

    @cached_property
    def scores(self) -> ExactLogits:
        """(B, Hq, Sq, keys): dot products times the scale."""
        return exact_logits(self.dots, self.scale)

    @cached_property
    def logits(self) -> ExactLogits:
        """(B, Hq, Sq, keys): scores after softcap, ALiBi and float mask."""
        return exact_logits(self.dots, self.scale, self.addends, self.softcap)


def attend(
    query: NDArray[Any],
    keys: ExactArray,
    past: int = 0,
    *,
    mask: NDArray[Any] | None,
    key_lengths: NDArray[Any] | None,
    query_lengths: NDArray[Any] | None,
    sinks: NDArray[Any] | None,
    alibi_slopes: NDArray[Any] | None,
    is_causal: bool,
    causal_alignment: str,
    scale: float | Scale | None,
    softcap: float | None,
    window: Sequence[int | None] | None,
) -> Attending:
    """Compare every query (B, Hq, Sq, E) with the keys (B, Hq, keys, E), the first ones of which are past.

    The others are described where they are taken: at the operations.

    Raises
    ------
    ValueError
        When shapes contradict each other or an attribute has no meaning.
    """
    batch, heads, query_length, width = query.shape
    placement = placed(
        batch=batch,
        queries=query_length,
        keys=keys.shape[2],
        past=past,
        causal_alignment=causal_alignment,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
    )
    # Every query times every key, with the scale, the softcap and the biases
    factor = scale if isinstance(scale, Scale) else scale_for(scale, width)
    dots = matmul(exact_array(query), transposed(keys))
    attended, addends = read_mask(mask, dots.shape)
    attended = attended & placement.attendable(is_causal=is_causal, window=window)
    if alibi_slopes is not None:
        _check_per_head("alibi_slopes", alibi_slopes, heads)
        addends = add(addends, placement.distance_penalties(alibi_slopes))
    summed, terms, biases = attended & placement.live, dots, addends
    if sinks is not None:
        # A sink is one more column, whose dot product and whose value are zero and which nothing excludes.
        _check_per_head("sinks", sinks, heads)
        column = np.broadcast_to(sinks[:, np.newaxis, np.newaxis], (*dots.shape[:-1], 1))
        terms = joined(dots, exact_array(np.zeros(column.shape)), axis=-1)
        biases = joined(_full(addends, dots.shape), _excluding(column), axis=-1)
        summed = np.concatenate([summed, placement.live & (column != -np.inf)], axis=-1)
    softmax = Softmax(exact_logits(terms, factor, biases, softcap), summed)
    return Attending(softmax, dots, factor, addends, softcap, attended, placement.live)


def shared_among(heads: int, shared: NDArray[Any]) -> ExactArray:
    """Give every query head its key or value head, (B, Hkv, keys, width) to (B, Hq, keys, width)."""
    group = group_of(heads, shared.shape[1])
    return exact_array(shared).rearranged(lambda moved: np.repeat(moved, group, axis=1))


def group_of(heads: int, shared: int) -> int:
    """Say how many query heads share each key and value head; none where there is none of either."""
    return heads // max(shared, 1)


def check_attention(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Refuse shapes of queries, keys and values that contradict each other."""
    if not len(query) == len(key) == len(value) == 4:
        raise ValueError(f"Query, key and value need 4 axes each; their shapes are {query}, {key} and {value}.")
    if query[-1] != key[-1]:
        raise ValueError(f"Query and key need the same width; their shapes are {query} and {key}.")
    if query[0] != key[0] or key[:3] != value[:3]:
        raise ValueError(
            "Query, key and value need the same batch, and key and value the same heads and length; "
            f"their shapes are {query}, {key} and {value}."
        )
    if query[1] and (key[1] < 1 or query[1] % key[1]):
        raise ValueError(f"{query[1]} query heads cannot share {key[1]} key and value heads evenly.")


def read_mask(mask: NDArray[Any] | None, shape: tuple[int, ...]) -> tuple[NDArray[np.bool_], ExactArray]:
    """Say what a mask lets attend, and what it adds, to logits of a shape (B, H, Sq, Sk)."""
    attended = np.ones(shape, dtype=np.bool_)
    nothing = exact_array(np.zeros((1,) * len(shape)))
    if mask is None:
        return attended, nothing
    _check_mask(mask.shape, shape)
    if mask.dtype == np.bool_:
        return attended & mask, nothing
    return attended & (mask != -np.inf), _excluding(mask)


def transposed(array: ExactArray) -> ExactArray:
    """Swap the last two axes."""
    return array.rearranged(lambda moved: moved.swapaxes(-1, -2))


def _excluding(addends: NDArray[np.float64]) -> ExactArray:
    """Read addends in which -inf stands for an exclusion, which is kept elsewhere, and adds nothing."""
    return exact_array(np.where(addends == -np.inf, 0.0, addends))


def _full(array: ExactArray, shape: tuple[int, ...]) -> ExactArray:
    return array.rearranged(lambda moved: np.broadcast_to(moved, shape))


def _check_per_head(name: str, numbers: NDArray[Any], heads: int) -> None:
    if numbers.shape != (heads,):
        raise ValueError(f"{name} needs one number for each of the {heads} query heads, not shape {numbers.shape}.")


def _check_mask(mask: tuple[int, ...], logits: tuple[int, ...]) -> None:
    fits = 2 <= len(mask) <= 4 and mask[-1] == logits[-1]
    if not fits or any(have not in (1, want) for have, want in zip(mask[::-1], logits[::-1], strict=False)):
        raise ValueError(f"A mask of shape {mask} does not broadcast to {logits} with its key axis in full.")


def products_with_scale(numbers: NDArray[Any], scale: NDArray[Any] | None, shared: int) -> NDArray[Any]:
    """Multiply numbers (B, H, S, E) by the scales of the key heads that they belong to.

    A number of 8 bits times a scale in float32 has at most 32 significant bits, so that the product in float64 is
    exact.

    Parameters
    ----------
    numbers
        Queries, keys or values.
    scale
        (), (Hkv,) or (B, Hkv), an axis of length 1 standing for all; None for numbers that count as they are.
    shared
        Hkv.

    Raises
    ------
    ValueError
        When the scales do not match, or a product has more bits than float64 holds.
    """
    if scale is None:
        return numbers
    batch, heads = numbers.shape[:2]
    matched = np.broadcast_to(scale.astype(np.float64), (batch, shared))
    factors = np.repeat(matched, group_of(heads, shared), axis=1)[:, :, np.newaxis, np.newaxis]
    wide = numbers.astype(np.float64)
    for name, array, bits in (("number", wide, 8), ("scale", matched, 24)):
        mantissas, _ = np.frexp(array[np.isfinite(array)])
        if (mantissas * 2.0**bits % 1).any():
            raise ValueError(f"A quantized {name} has more than {bits} significant bits.")
    return wide * factors
