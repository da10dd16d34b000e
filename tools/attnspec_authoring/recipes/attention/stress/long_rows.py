"""Long rows: running maxima that rise, sums that stall in half precision, and many queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

STABLE = ("sdpa.softmax.stability",)


def line(scores: NDArray[Any], values: NDArray[Any] | None = None) -> dict[str, Any]:
    """Make two heads of one feature with these scores, the second head's in reverse; values count the keys."""
    count = len(scores)
    counting = np.arange(count, dtype=np.float64) if values is None else values
    return {
        "query": np.broadcast_to(np.array([1.0, 0.5, -1.0])[:, np.newaxis], (1, 2, 3, 1)),
        "key": np.stack([scores, scores[::-1]]).reshape(1, 2, count, 1),
        "value": np.broadcast_to(counting[:, np.newaxis], (1, 2, count, 1)),
        "scale": 1.0,
    }


def maximum_cases() -> tuple[AuthoredCase, ...]:
    """Let the greatest score come first, last, in the middle, or anew in every tile."""
    reports = {
        17: "https://github.com/paiml/aprender/issues/2753",
        65: "https://github.com/Dao-AILab/flash-attention/pull/2083",
    }
    rising = [
        attention(
            f"stress/rising_{count}",
            f"{count} scores that rise by one from key to key: the maximum moves in every tile",
        )(
            Sizes(1, 2, 2, 3, count, 1),
            clauses=STABLE,
            url=reports.get(count),
            outputs=("output", "logsumexp"),
            **line(np.arange(count, dtype=np.float64)),
        )
        for count in (4, 17, 65)
    ]
    places = np.arange(72, dtype=np.float64)
    shapes = {
        "sawtooth": (places % 16, "Scores that rise and fall sixteen at a time"),
        "peak_in_the_middle": (36.0 - np.abs(places - 36.0), "The greatest score stands in the middle of 72 keys"),
        "peak_in_the_middle_tile": (
            np.where(places == 37, 24.0, places % 4),
            "One high score in the middle tile of 72 keys",
        ),
        "steps_of_tiles": (places // 8 * 4.0, "Scores that rise by four every eight keys"),
        "all_equal": (np.full(72, 3.0), "72 equal scores"),
    }
    return (
        *rising,
        *(
            attention(f"stress/{name}", title)(
                Sizes(1, 2, 2, 3, 72, 1), clauses=STABLE, outputs=("output", "logsumexp"), **line(scores)
            )
            for name, (scores, title) in shapes.items()
        ),
        attention("stress/rising_far", "72 scores that rise by eight: single precision must rescale to zero and go on")(
            Sizes(1, 2, 2, 3, 72, 1), clauses=STABLE, outputs=("output", "logsumexp"), **line(places * 8.0)
        ),
    )


def sum_cases() -> tuple[AuthoredCase, ...]:
    """Sum more keys than half precision can count."""

    def uniform(count: int, values: NDArray[np.float64], value_width: int = 1) -> dict[str, Any]:
        of_all = np.broadcast_to(values[:, np.newaxis], (1, 1, count, value_width))
        return {"query": np.zeros((1, 2, 3, 1)), "key": np.zeros((1, 1, count, 1)), "value": of_all}

    clauses = ("sdpa.precision.accumulation", "sdpa.weights")
    long = Sizes(1, 2, 1, 3, 520, 1)
    # A sum near 1 loses the first small ones in bfloat16 alone, the last ones in float16, too.
    exponents = np.repeat([0.0, -6.25, -7.75], [8, 72, 128])
    return (
        attention(
            "stress/uniform_ones_513",
            "513 equal scores and values of one: one comes out, also where bfloat16 stops counting at 256",
        )(
            Sizes(1, 2, 1, 3, 513, 1),
            clauses=clauses,
            url="https://github.com/tenstorrent/tt-metal/pull/13990",
            **uniform(513, np.ones(513)),
        ),
        attention("stress/uniform_halves_520", "520 equal scores, values of zero and then of one: one half comes out")(
            Sizes(1, 2, 1, 3, 520, 1),
            clauses=clauses,
            url="https://github.com/Dao-AILab/flash-attention/pull/2721",
            **uniform(520, (np.arange(520) >= 260).astype(np.float64)),
        ),
        attention("stress/long_row", "520 keys with drawn numbers")(
            long,
            clauses=("sdpa.softmax.keys", "sdpa.output"),
            outputs=("output", "weights", "logsumexp"),
            sample={"weights": tuple(range(0, 2 * 3 * 520, 97))},
        ),
        attention(
            "stress/many_small_weights",
            "Eight keys, and 200 so far below them that a sum in half precision never sees them",
        )(
            shared(208),
            url="https://github.com/sonos/tract/pull/2586",
            query=asked(1.0, 1.0, 1.0),
            key=row(exponents),
            value=row(np.where(exponents == 0, 1.0, -1.0)),
            scale=1.0,
        ),
        # With two features, an einsum adds up in the dtype of the values; with one it may add in a wider one.
        attention(
            "stress/one_large_value_64",
            "64 equal weights and one large value: sums of values in half precision lose the rest",
        )(
            Sizes(1, 2, 1, 3, 64, 1, 2),
            url="https://github.com/cactus-compute/cactus/pull/480",
            **uniform(64, np.where(np.arange(64) == 0, 1024.0, 0.4375), 2),
        ),
        attention("stress/one_large_value_16", "Sixteen equal weights and one large value, within one tile")(
            Sizes(1, 2, 1, 3, 16, 1, 2),
            url="https://github.com/NVIDIA/TensorRT-LLM/pull/18044",
            **uniform(16, np.where(np.arange(16) == 0, 256.0, 0.875), 2),
        ),
    )


def many_query_cases() -> tuple[AuthoredCase, ...]:
    """Ask with more queries than a tile of 64 has rows."""
    rows = Sizes(1, 2, 2, 70, 5, 2)
    causal = Sizes(1, 2, 1, 68, 68, 1)
    last = tuple(range(0, 2 * 68, 3))
    return (
        attention("stress/seventy_queries", "Seventy queries, more than a tile of 64 holds")(
            rows, clauses=("sdpa.scores", "sdpa.output"), sample={"output": tuple(range(1, 2 * 70 * 2, 3))}
        ),
        attention("stress/sixty_eight_causal", "Sixty-eight queries and keys, causal")(
            causal,
            clauses=("sdpa.causal.top_left",),
            url="https://github.com/pytorch/pytorch/issues/195910",
            is_causal=True,
            sample={"output": last},
        ),
        attention(
            "stress/sixty_eight_causal_window", "Sixty-eight queries and keys, causal with a window of thirty-three"
        )(causal, clauses=("sdpa.window.left",), is_causal=True, window=[32, 0], sample={"output": last}),
        attention("stress/sixty_six_masked", "Sixty-six queries with a Boolean mask of their own for each")(
            Sizes(1, 2, 2, 66, 5, 2),
            clauses=("sdpa.mask.boolean",),
            mask=(np.arange(66)[:, np.newaxis] * 3 % 5 != np.arange(5)),
            sample={"output": tuple(range(2, 2 * 66 * 2, 3))},
        ),
        attention(
            "stress/fine_products",
            "Products of numbers with thirteen bits: a tensor core that drops the last ones shows",
        )(
            Sizes(1, 2, 2, 4, 5),
            clauses=("sdpa.scores",),
            url="https://github.com/evintunador/triton_docs_tutorials/issues/6",
            dtypes=SINGLE_AND_DOUBLE,
            query=1.0 + grid("stress/fine_products/query", (1, 2, 4, 3)) * 2.0**-8,
            key=1.0 + grid("stress/fine_products/key", (1, 2, 5, 3)) * 2.0**-8,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of long rows."""
    return (*maximum_cases(), *sum_cases(), *many_query_cases())
