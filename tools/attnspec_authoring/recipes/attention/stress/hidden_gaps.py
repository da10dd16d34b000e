"""Keys that may be attended score far below keys that may not.

A large negative number in the place of minus infinity is then too small a penalty, and hidden values come through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes, attention
from attnspec_authoring.recipes.attention.stress.magnitudes import with_scores
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SIZES = Sizes(1, 2, 2, 3, 5)
ONE_OR_MORE = np.array(
    [[True, False, False, False, False], [False, True, True, False, False], [False, False, True, True, True]]
)
CLAUSES = ("sdpa.mask.boolean", "sdpa.softmax.stability")


def below(gap: float) -> dict[str, Any]:
    """Give allowed keys scores around minus `gap`, hidden ones around zero or above."""
    low = np.where(ONE_OR_MORE, -gap, 0.0)
    # Beyond 2**24 single precision tells no halves apart, and a logarithm of it no shares (decision 6): there one of
    # the allowed keys lies far above the others.
    fine = (
        grid(f"gap of {gap}/fine", (3, 5)) if gap < 2.0**20 else np.arange(5.0) * np.where(ONE_OR_MORE, gap / 8.0, 0.0)
    )
    scores = low + fine
    made = with_scores(scores.tolist())
    # Both heads see the keys in the same order, so that one mask serves both.
    made["key"] = np.broadcast_to(scores.T, (1, 2, 5, 3))
    return made


def gap_cases() -> tuple[AuthoredCase, ...]:
    """Hold gaps from hundreds to billions, for both kinds of mask."""
    gaps = (
        (256.0, "hundreds", "a penalty of minus 100"),
        (16384.0, "sixteen_thousand", "a penalty of minus 10000"),
        (49152.0, "forty_nine_thousand", "a penalty of minus 10000, also when it is added"),
        (4294967296.0, "billions", "a penalty of minus a billion"),
    )
    made: list[AuthoredCase] = []
    for gap, name, small in gaps:
        for kind in ("boolean", "float"):
            mask = ONE_OR_MORE if kind == "boolean" else np.where(ONE_OR_MORE, 0.0, HIDDEN)
            clauses = ("sdpa.mask.boolean" if kind == "boolean" else "sdpa.mask.additive", "sdpa.softmax.stability")
            url = "https://github.com/ohdearquant/lattice/pull/373" if (gap, kind) == (16384.0, "boolean") else None
            made.append(
                attention(
                    f"stress/gap_of_{name}_{kind}",
                    f"Keys that a {'Boolean' if kind == 'boolean' else kind} mask leaves score {gap:g} below "
                    f"hidden ones: {small} is too small",
                )(
                    SIZES,
                    clauses=clauses,
                    url=url,
                    dtypes=SINGLE_AND_DOUBLE,
                    mask=mask,
                    revision=2 if name == "billions" else 1,
                    **below(gap),
                )
            )
    return tuple(made)


def single_key_cases() -> tuple[AuthoredCase, ...]:
    """Leave each query one key, far below all others: its value comes out, in every dtype."""
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
        attention(
            "stress/gap_one_key_boolean", "The only key that a Boolean mask leaves scores 20544 below the others"
        )(SIZES, clauses=CLAUSES, mask=one, **far),
        attention("stress/gap_one_key_float", "The only key that a float mask leaves scores 20544 below the others")(
            SIZES, clauses=("sdpa.mask.additive", "sdpa.softmax.stability"), mask=np.where(one, 0.0, HIDDEN), **far
        ),
        attention(
            "stress/gap_one_key_billions", "The only key that a mask leaves scores four billion below the others"
        )(SIZES, clauses=CLAUSES, dtypes=("float64", "float32", "bfloat16"), mask=one, **farthest),
        attention("stress/gap_causal", "Keys in the future score 20000 above those in the past")(
            SIZES,
            clauses=("sdpa.causal.top_left", "sdpa.softmax.stability"),
            is_causal=True,
            causal_alignment="top_left",
            revision=2,
            **causal,
        ),
        attention("stress/gap_key_lengths", "Keys beyond the length score 20000 above those that count")(
            SIZES,
            clauses=("sdpa.key_lengths.exclusion", "sdpa.softmax.stability"),
            key_lengths=[3],
            revision=2,
            **causal,
        ),
        attention("stress/gap_window", "Keys outside the window score 20000 above those inside")(
            SIZES,
            clauses=("sdpa.window.right", "sdpa.softmax.stability"),
            window=[1, None],
            causal_alignment=BOTTOM_RIGHT,
            revision=2,
            **falling,
        ),
        attention("stress/gap_below_everything", "Every allowed score lies below minus 50000: the row is not dead")(
            SIZES,
            clauses=("sdpa.softmax.stability", "sdpa.mask.boolean"),
            url="https://github.com/flashinfer-ai/flashinfer/issues/4267",
            mask=one | (np.arange(5) == 4),
            revision=2,
            **lowest,
        ),
        attention(
            "stress/gap_first_tile_hidden", "The first 32 of 40 keys are hidden: the maximum starts at minus infinity"
        )(
            Sizes(1, 2, 2, 3, 40),
            clauses=("sdpa.mask.boolean", "sdpa.softmax.stability"),
            url="https://github.com/Dao-AILab/flash-attention/pull/1948",
            mask=np.broadcast_to(np.arange(40) >= 32, (1, 40)),
        ),
    )


def far_cases() -> tuple[AuthoredCase, ...]:
    """Put what may be attended far from where a running maximum starts, or from where a wrong maximum lies."""
    only_of_five = np.arange(5) == 2
    only_of_many = np.arange(133) == 66
    return (
        attention(
            "stress/gap_tiles_hidden_on_both_sides", "66 hidden keys, one that scores -1024, and 66 more hidden ones"
        )(
            shared(133),
            clauses=("sdpa.softmax.stability",),
            url="https://github.com/Dao-AILab/flash-attention/issues/2082",
            query=asked(1.0, 1.0, 1.0),
            key=row(np.where(only_of_many, -1024.0, 0.0)),
            value=row(np.arange(133, dtype=np.float64) % 32),
            scale=1.0,
            mask=only_of_many[np.newaxis],
        ),
        attention(
            "stress/gap_one_key_lowest",
            "The only key that may be attended scores -57344, below any number that stands for minus infinity",
        )(
            shared(5),
            clauses=("sdpa.softmax.stability",),
            url="https://github.com/flashinfer-ai/flashinfer/pull/4401",
            query=asked(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, -57344.0, 0.0)),
            scale=1.0,
            mask=np.where(only_of_five, 0.0, HIDDEN)[np.newaxis],
        ),
        attention(
            "stress/gap_hidden_key_highest",
            "A hidden key scores 57344 above the others: no number that is subtracted from it hides it",
        )(
            shared(5),
            clauses=("sdpa.softmax.stability",),
            url="https://github.com/ohdearquant/lattice/pull/373",
            query=asked(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, 57344.0, 0.0)),
            scale=1.0,
            mask=~only_of_five[np.newaxis],
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of gaps."""
    return (*gap_cases(), *single_key_cases(), *far_cases())
