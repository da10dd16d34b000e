"""Rows of hundreds of keys, also such of which a mask hides whole stretches, and tensors without features.

A large negative number instead of minus infinity is then too small a penalty, and hidden values come through.

The longest of no lengths, the largest of no scores: code that asks for it ends in an error where nothing is to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM,
    HIDDEN,
    TOP_LEFT,
    Sizes,
    coarse,
    profile,
)
from attnspec_authoring.recipes.attention.stress.magnitudes import query_of, row, shared, with_scores
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

stress = profile("stress")

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
    case = table(stress, clauses=STABLE, also="logsumexp")
    reports = {17: "paiml/aprender/issues/2753", 65: "Dao-AILab/flash-attention/pull/2083"}
    rising = [
        case(f"rising_{count}", f"{count} scores that rise by one from key to key: the maximum moves in every tile")(
            Sizes(1, 2, 2, 3, count, 1), report=reports.get(count), **line(np.arange(count, dtype=np.float64))
        )
        for count in (4, 17, 65)
    ]
    indices = np.arange(72, dtype=np.float64)
    shapes = {
        "sawtooth": (indices % 16, "Scores that rise and fall sixteen at a time"),
        "peak_in_the_middle": (36.0 - np.abs(indices - 36.0), "The greatest score stands in the middle of 72 keys"),
        "peak_in_the_middle_tile": (
            np.where(indices == 37, 24.0, indices % 4),
            "One high score in the middle tile of 72 keys",
        ),
        "steps_of_tiles": (indices // 8 * 4.0, "Scores that rise by four every eight keys"),
        "all_equal": (np.full(72, 3.0), "72 equal scores"),
    }
    return (
        *rising,
        *(case(f"{name}", title)(Sizes(1, 2, 2, 3, 72, 1), **line(scores)) for name, (scores, title) in shapes.items()),
        case("late_maximum", "260 scores, of which the last three lie far above the first ones")(
            late := Sizes(1, 2, 1, 3, 260, 1),
            also="logsumexp",
            **(
                coarse("stress/late_maximum", late)
                | {
                    "query": query_of(1.0, 0.5, -1.0),
                    "key": np.append(np.arange(257.0) % 5, [792, 800, 796]).reshape(1, 1, 260, 1),
                }
            ),
        ),
        case("rising_far", "72 scores that rise by eight: single precision must rescale to zero and go on")(
            Sizes(1, 2, 2, 3, 72, 1), **line(indices * 8.0)
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
        stress(
            "uniform_ones_513",
            "513 equal scores and values of one: one comes out, also where bfloat16 stops counting at 256",
        )(
            Sizes(1, 2, 1, 3, 513, 1),
            clauses=clauses,
            report="tenstorrent/tt-metal/pull/13990",
            **uniform(513, np.ones(513)),
        ),
        stress("uniform_halves_520", "520 equal scores, values of zero and then of one: one half comes out")(
            Sizes(1, 2, 1, 3, 520, 1),
            clauses=clauses,
            report="Dao-AILab/flash-attention/pull/2721",
            **uniform(520, (np.arange(520) >= 260).astype(np.float64)),
        ),
        stress("long_row", "520 keys with drawn numbers")(
            long,
            clauses="softmax.keys output",
            also="weights logsumexp",
            sample={"weights": tuple(range(0, 2 * 3 * 520, 97))},
        ),
        stress(
            "many_small_weights", "Eight keys, and 200 so far below them that a sum in half precision never sees them"
        )(
            shared(208),
            report="sonos/tract/pull/2586",
            query=query_of(1.0, 1.0, 1.0),
            key=row(exponents),
            value=row(np.where(exponents == 0, 1.0, -1.0)),
            scale=1.0,
        ),
        # With two features, an einsum adds up in the dtype of the values; with one it may add in a wider one.
        stress(
            "one_large_value_64", "64 equal weights and one large value: sums of values in half precision lose the rest"
        )(
            Sizes(1, 2, 1, 3, 64, 1, 2),
            report="cactus-compute/cactus/pull/480",
            **uniform(64, np.where(np.arange(64) == 0, 1024.0, 0.4375), 2),
        ),
        stress("one_large_value_16", "Sixteen equal weights and one large value, within one tile")(
            Sizes(1, 2, 1, 3, 16, 1, 2),
            report="NVIDIA/TensorRT-LLM/pull/18044",
            **uniform(16, np.where(np.arange(16) == 0, 256.0, 0.875), 2),
        ),
    )


def many_query_cases() -> tuple[AuthoredCase, ...]:
    """Ask with more queries than a tile of 64 has rows."""
    rows = Sizes(1, 2, 2, 70, 5, 2)
    causal = Sizes(1, 2, 1, 68, 68, 1)
    last = tuple(range(0, 2 * 68, 3))
    return (
        stress("seventy_queries", "Seventy queries, more than a tile of 64 holds")(
            rows, clauses="scores output", sample={"output": tuple(range(1, 2 * 70 * 2, 3))}
        ),
        stress("sixty_eight_causal", "Sixty-eight queries and keys, causal")(
            causal,
            clauses="causal.top_left",
            report="pytorch/pytorch/issues/195910",
            is_causal=True,
            sample={"output": last},
        ),
        stress("sixty_eight_causal_window", "Sixty-eight queries and keys, causal with a window of thirty-three")(
            causal, clauses="window.left", is_causal=True, window=[32, 0], sample={"output": last}
        ),
        stress("sixty_six_masked", "Sixty-six queries with a Boolean mask of their own for each")(
            Sizes(1, 2, 2, 66, 5, 2),
            clauses="mask.boolean",
            mask=(np.arange(66)[:, np.newaxis] * 3 % 5 != np.arange(5)),
            sample={"output": tuple(range(2, 2 * 66 * 2, 3))},
        ),
        stress("fine_products", "Products of numbers with thirteen bits: a tensor core that drops the last ones shows")(
            Sizes(1, 2, 2, 4, 5),
            clauses="scores",
            report="evintunador/triton_docs_tutorials/issues/6",
            dtypes=SINGLE_AND_DOUBLE,
            query=1.0 + grid("stress/fine_products/query", (1, 2, 4, 3)) * 2.0**-8,
            key=1.0 + grid("stress/fine_products/key", (1, 2, 5, 3)) * 2.0**-8,
        ),
    )


SIZES = Sizes(1, 2, 2, 3, 5)
ONE_OR_MORE = np.array(
    [[True, False, False, False, False], [False, True, True, False, False], [False, False, True, True, True]]
)
CLAUSES = ("sdpa.mask.boolean", "sdpa.softmax.stability")


def below(gap: float) -> dict[str, Any]:
    """Give allowed keys scores around minus `gap`, hidden ones around zero or above."""
    low = np.where(ONE_OR_MORE, -gap, 0.0)
    # Beyond 2**24 single precision distinguishes no halves, and a logarithm of it no shares (decision 6): there one of
    # the allowed keys lies far above the others.
    fine = (
        grid(f"gap of {gap}/fine", (3, 5)) if gap < 2.0**20 else np.arange(5.0) * np.where(ONE_OR_MORE, gap / 8.0, 0.0)
    )
    scores = low + fine
    made = with_scores(scores.tolist())
    # Both heads see the keys in the same order, so that one mask serves both.
    made["key"] = np.broadcast_to(scores.T, (1, 2, 5, 3))
    return made


def gap_cases() -> Iterator[AuthoredCase]:
    """Hold gaps from hundreds to billions, for both kinds of mask."""
    gaps = (
        (256.0, "hundreds", "a penalty of minus 100"),
        (16384.0, "sixteen_thousand", "a penalty of minus 10000"),
        (49152.0, "forty_nine_thousand", "a penalty of minus 10000, also when it is added"),
        (4294967296.0, "billions", "a penalty of minus a billion"),
    )
    for gap, name, small in gaps:
        for kind in ("boolean", "float"):
            mask = ONE_OR_MORE if kind == "boolean" else np.where(ONE_OR_MORE, 0.0, HIDDEN)
            clauses = ("sdpa.mask.boolean" if kind == "boolean" else "sdpa.mask.additive", "sdpa.softmax.stability")
            report = "ohdearquant/lattice/pull/373" if (gap, kind) == (16384.0, "boolean") else None
            yield stress(
                f"gap_of_{name}_{kind}",
                f"Keys that a {'Boolean' if kind == 'boolean' else kind} mask leaves score {gap:g} below "
                f"hidden ones: {small} is too small",
            )(
                SIZES,
                clauses=clauses,
                report=report,
                dtypes=SINGLE_AND_DOUBLE,
                mask=mask,
                revision=2 if name == "billions" else 1,
                **below(gap),
            )


def single_key_cases() -> tuple[AuthoredCase, ...]:
    """Leave each query one key, far below all others: its value comes out, in every dtype."""
    case = table(stress, sizes=SIZES, revision=2)
    one = np.eye(3, 5, 1) > 0
    scores = np.where(one, -20480.0, 64.0)
    far: dict[str, Any] = {**with_scores(scores.tolist()), "key": np.broadcast_to(scores.T, (1, 2, 5, 3))}
    farther = np.where(one, -4294967296.0, 64.0)
    farthest: dict[str, Any] = {**with_scores(farther.tolist()), "key": np.broadcast_to(farther.T, (1, 2, 5, 3))}
    # Query i may attend to the keys up to i; all of them score lower than any later key.
    rising = np.broadcast_to(np.array([-20480.0, -20480.0, -20480.0, 64.0, 96.0]), (3, 5))
    causal: dict[str, Any] = {**with_scores(rising.tolist()), "key": np.broadcast_to(rising.T, (1, 2, 5, 3))}
    falling: dict[str, Any] = causal | {"key": np.broadcast_to(rising[:, ::-1].T, (1, 2, 5, 3))}
    lowest: dict[str, Any] = causal | {"key": np.full((1, 2, 5, 3), -57344.0)}
    return (
        stress("gap_one_key_boolean", "The only key that a Boolean mask leaves scores 20544 below the others")(
            SIZES, clauses=CLAUSES, mask=one, **far
        ),
        stress("gap_one_key_float", "The only key that a float mask leaves scores 20544 below the others")(
            SIZES, clauses="mask.additive softmax.stability", mask=np.where(one, 0.0, HIDDEN), **far
        ),
        stress("gap_one_key_billions", "The only key that a mask leaves scores four billion below the others")(
            SIZES, clauses=CLAUSES, dtypes=("float64", "float32", "bfloat16"), mask=one, **farthest
        ),
        case("gap_causal", "Keys in the future score 20000 above those in the past")(
            clauses="causal.top_left softmax.stability", is_causal=True, causal_alignment="top_left", **causal
        ),
        case("gap_key_lengths", "Keys beyond the length score 20000 above those that count")(
            clauses="key_lengths.exclusion softmax.stability", key_lengths=[3], **causal
        ),
        case("gap_window", "Keys outside the window score 20000 above those inside")(
            clauses="window.right softmax.stability", window=[1, None], **BOTTOM, **falling
        ),
        case("gap_below_everything", "Every allowed score lies below minus 50000: the row is not dead")(
            clauses="softmax.stability mask.boolean",
            report="flashinfer-ai/flashinfer/issues/4267",
            mask=one | (np.arange(5) == 4),
            **lowest,
        ),
        stress("gap_first_tile_hidden", "The first 32 of 40 keys are hidden: the maximum starts at minus infinity")(
            Sizes(1, 2, 2, 3, 40),
            clauses="mask.boolean softmax.stability",
            report="Dao-AILab/flash-attention/pull/1948",
            mask=np.broadcast_to(np.arange(40) >= 32, (1, 40)),
        ),
    )


def far_cases() -> tuple[AuthoredCase, ...]:
    """Put what may be attended far from where a running maximum starts, or from where a wrong maximum lies."""
    case = table(stress, clauses="softmax.stability")
    only_of_five = np.arange(5) == 2
    only_of_many = np.arange(133) == 66
    return (
        case("gap_tiles_hidden_on_both_sides", "66 hidden keys, one that scores -1024, and 66 more hidden ones")(
            shared(133),
            report="Dao-AILab/flash-attention/issues/2082",
            query=query_of(1.0, 1.0, 1.0),
            key=row(np.where(only_of_many, -1024.0, 0.0)),
            value=row(np.arange(133, dtype=np.float64) % 32),
            scale=1.0,
            mask=only_of_many[np.newaxis],
        ),
        case(
            "gap_one_key_lowest",
            "The only key that may be attended scores -57344, below any number that stands for minus infinity",
        )(
            shared(5),
            report="flashinfer-ai/flashinfer/pull/4401",
            query=query_of(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, -57344.0, 0.0)),
            scale=1.0,
            mask=np.where(only_of_five, 0.0, HIDDEN)[np.newaxis],
        ),
        case(
            "gap_hidden_key_highest",
            "A hidden key scores 57344 above the others: no number that is subtracted from it hides it",
        )(
            shared(5),
            report="ohdearquant/lattice/pull/373",
            query=query_of(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, 57344.0, 0.0)),
            scale=1.0,
            mask=~only_of_five[np.newaxis],
        ),
    )


EVERY_OUTPUT = ("output", "weights", "logsumexp")
WITHOUT: Mapping[str, tuple[str, Sizes]] = {
    "no_batch_entries": ("no batch entry", Sizes(0, 2, 1, 3, 4, 2)),
    "no_queries": ("no query", Sizes(2, 3, 1, 0, 4, 2)),
    "no_heads": ("no head", Sizes(2, 0, 1, 3, 4, 2)),
}


def features_of(sizes: Sizes) -> Mapping[str, dict[str, Any]]:
    """Return each feature with inputs that are as long as what there is none of."""
    entries, heads, queries, keys = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    return {
        **(lengths_of(sizes) if heads else {}),
        **mask_and_sinks_of(sizes),
        "float_mask": {"mask": np.zeros((entries, heads, queries, keys))},
        "alibi": {**alignment_of(sizes), "alibi_slopes": np.array([0.5, 0.25, 0.125][:heads])},
        "window_softcap": {"window": [1, 0], "softcap": 2.0},
    }


def empty_features_cases() -> Iterator[AuthoredCase]:
    """Return the cases of each feature and of a past."""
    for name, (what, sizes) in WITHOUT.items():
        for feature, arguments in features_of(sizes).items():
            yield stress(f"{name}_{feature}", f"There is {what}, beside {feature.replace('_', ' ')}")(
                sizes, outputs=EVERY_OUTPUT, **arguments
            )
    past = Sizes(0, 2, 2, 3, 4, 2, past=3)
    yield stress("no_batch_entries_past", "There is no batch entry, beside a past")(past)


def alignment_of(sizes: Sizes) -> dict[str, Any]:
    """Return the alignment where it must be stated: where there are no queries, it is stated where they would stand."""
    return {} if sizes.queries == sizes.keys or not sizes.batch else {"causal_alignment": TOP_LEFT}


def lengths_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return lengths of keys, and of both beside causality."""
    of_keys, of_queries = (np.array(lengths[: sizes.batch], np.int64) for lengths in ([3, 0], [2, 1]))
    return {
        "key_lengths": {"key_lengths": of_keys},
        "both_lengths_causal": {
            "key_lengths": of_keys,
            "query_lengths": np.minimum(of_queries, sizes.queries),
            "is_causal": True,
        },
    }


def mask_and_sinks_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return a mask of entries, queries and keys, and a sink for each head."""
    ordinary = np.arange(sizes.keys) % 3 != 1
    return {
        "boolean_mask": {"mask": np.broadcast_to(ordinary, (sizes.batch, 1, sizes.queries, sizes.keys)).copy()},
        "sinks": {"sinks": np.linspace(-1.0, 0.5, sizes.heads)},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *maximum_cases(),
        *sum_cases(),
        *many_query_cases(),
        *gap_cases(),
        *single_key_cases(),
        *far_cases(),
        *empty_features_cases(),
    )
