"""What goes wrong at edges: windows at the border of a tile, large numbers for minus infinity, sinks far from all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import mistake, repeating
from attnspec_mistakes.attention.backward_masks import is_additive, replaying
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_for_keys, sum_for_queries
from attnspec_reference.attention.attention_softmax import largest_logit
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans, Integers


def hidden_below(lowest: float) -> Backward:
    """Make a backward pass that takes numbers of a mask from somewhere on downwards for minus infinity."""

    def changed(given: Mapping[str, Any]) -> Mapping[str, Any]:
        mask = given["mask"]
        if mask is None or not is_additive(mask):
            return {}
        return {"mask": np.where(np.less(mask, lowest), -np.inf, mask).astype(np.asarray(mask).dtype)}

    return repeating(changed)


def largest_not_below(lowest: float) -> Backward:
    """Make a backward pass whose softmax begins its search for the largest logit at a number, not at minus infinity."""

    def largest(terms: Array) -> Array:
        return np.maximum(largest_logit(terms), np.asarray(lowest, dtype=terms.dtype))

    return replaying(largest_logit=largest)


def largest_of_keys(**arguments: Any) -> AttentionGradients:
    """Leave the sink, which is the last of the terms, out of the search for the largest logit."""
    if arguments.get("sinks") is None:
        return scaled_dot_product_attention_backward(**arguments)

    def largest(terms: Array) -> Array:
        found = largest_logit(terms[..., :-1])
        return np.where(found == -np.inf, largest_logit(terms), found)

    return replaying(largest_logit=largest)(**arguments)


def skipping(reached: Callable[[Booleans], Booleans]) -> Backward:
    """Make a windowed backward pass that goes over some of the scores that may be attended to, and over no others."""

    def of_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
        kept = reached(attendable)
        return sum_for_queries(np.where(kept, grad_scores, 0), key, attendable & kept)

    def of_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
        kept = reached(attendable)
        return sum_for_keys(np.where(kept, of_scores, 0), of_queries, attendable & kept)

    departed = departure(scaled_dot_product_attention_backward, sum_for_queries=of_queries, sum_for_keys=of_keys)

    def computed(**arguments: Any) -> AttentionGradients:
        windowed = arguments.get("window") is not None
        return (departed if windowed else scaled_dot_product_attention_backward)(**arguments)

    return computed


def without_cut_tile(tile: int, *, last: bool) -> Callable[[Booleans], Booleans]:
    """Leave out a tile of keys of which the window leaves a query no more than the key at its border."""

    def reached(attendable: Booleans) -> Booleans:
        keys = attendable.shape[-1]
        places: Integers = np.arange(keys, dtype=np.int64)
        some = attendable.any(axis=-1, keepdims=True)
        if not keys:
            return attendable
        if last:
            edge = keys - 1 - np.argmax(attendable[..., ::-1], axis=-1)[..., np.newaxis]
            cut = (edge % tile == 0) & (places == edge) & (edge > 0)
        else:
            edge = np.argmax(attendable, axis=-1)[..., np.newaxis]
            cut = (edge % tile == tile - 1) & (places == edge) & (edge < keys - 1)
        return ~(cut & some)

    return reached


MISTAKES = (
    *(
        mistake(
            id=f"sdpa_backward.mask_below_{name}_excludes",
            clause="sdpa_backward.mask.additive",
            sentence=f"Finite numbers of a mask below {lowest:,.0f} were taken for minus infinity.",
            engineer=f"Keys whose bias is < {lowest:,.0f} are skipped.",
            remedy="Exclude where the mask is minus infinity, and add every other number.",
            function=hidden_below(lowest),
            # Cases with masks as low as a million leave float32 nothing to grade.
            shows_in=("float64",) if name == "million" else ("float64", "float32"),
        )
        for name, lowest in (("ten_thousand", -10_000.0), ("half_precision", -65_504.0), ("million", -1_000_000.0))
    ),
    *(
        mistake(
            id=f"sdpa_backward.largest_from_{name}",
            clause="sdpa_backward.softmax.stability",
            sentence=f"Rows whose logits all lie below {lowest:,.0f} vanished.",
            engineer=f"The running row maximum starts at {lowest:,.0f} instead of minus infinity.",
            remedy="Subtract the largest logit of the row, however low it is.",
            function=largest_not_below(lowest),
        )
        for name, lowest in (("ten_thousand", -10_000.0), ("zero", 0.0))
    ),
    mistake(
        id="sdpa_backward.largest_of_keys_alone",
        clause="sdpa_backward.softmax.stability",
        sentence="A sink far above all logits made the exponential of the sink overflow.",
        engineer="The row maximum is that of the keys; the sink has no part in it.",
        remedy="Let the sink have its part in the largest logit.",
        function=largest_of_keys,
    ),
    *(
        mistake(
            id=f"sdpa_backward.window_{side}_tile_skipped_of_{tile}",
            clause="sdpa_backward.window",
            sentence=f"A tile of {tile} keys was left out where a window reaches its {key} key alone.",
            engineer=f"The {side} key tile of a window is rounded inwards by one.",
            remedy="Visit every tile that holds a key of the window.",
            function=skipping(without_cut_tile(tile, last=last)),
        )
        for tile in (8, 16, 32, 64)
        for side, key, last in (("first", "last", False), ("last", "first", True))
    ),
)
"""In the order of the page."""
