"""More than a tile holds, tiles that weigh next to nothing, and keys in parts.

Sums that are gathered tile by tile are brought to the greatest number so far. Where that is done by the maximum of the
last tile instead, they overflow once the numbers have fallen far; where it is left out, once they have risen.

A tile whose scores lie far below the greatest looks as if it could be left out. Larger values would make it seen in
float32, too, but who merges parts as ``out + w (part - out)`` loses such a part there, and is right for all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention, made_for
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, softmax
from attnspec_authoring.recipes.attention.stress.magnitudes import query_of, row, shared
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


FAR = 2048.0
"""The exponential of half of it overflows every dtype, and float16 holds all whole numbers up to it."""
NEAR = 1.0 / 256.0
"""Factor that makes it eight, so that every tile keeps a share."""
FACTORS = np.array([1.0, -1.0, NEAR, -NEAR])
"""Far and near, falling and rising."""
LENGTHS = (72, 136, 264)
"""Beyond 64, 128 and 256, by half of the smallest tile."""
STABLE = ("softmax.stability", "softmax.definition")


def stairs(count: int) -> NDArray[np.float64]:
    """Fall from `FAR`, a step every sixteen numbers, so that tiles of any size have other maxima; at last, to zero.

    The last step is half of the way, so that one tile and the few numbers behind it lie far apart, too.
    """
    steps = np.arange(count) // 16
    return np.where(steps < steps[-1], FAR - steps * (FAR / 2.0 / steps[-1]), 0.0)


def ends(count: int) -> NDArray[np.float64]:
    """Stand high at the first number, and nearly as high at the last."""
    high = np.zeros(count)
    high[0], high[-1] = FAR, FAR - 64.0
    return high


def middle(count: int) -> NDArray[np.float64]:
    """Stand high in the middle alone."""
    return np.where(np.arange(count) == count // 2, FAR, 0.0)


def some(elements: int, rows: int = 1) -> tuple[int, ...]:
    """Return about thirty elements, and both ends of each row."""
    length = elements // rows
    ends_of_rows = (end for start in range(0, elements, length) for end in (start, start + length - 1))
    # An odd step visits every column where there are two.
    return tuple(sorted({*range(0, elements, elements // 30 | 1), *ends_of_rows}))


def softmax_cases() -> tuple[AuthoredCase, ...]:
    """Hold softmax over the last axis, over others, and over the whole."""
    rows = {
        count: np.stack([*np.outer(FACTORS, stairs(count)), ends(count), middle(count) * NEAR]) for count in LENGTHS
    }
    down = np.stack([stairs(264), -stairs(264)], axis=-1)
    across = np.stack([ends(136), -stairs(136)], axis=-1)[np.newaxis]
    whole = {"falling": stairs(264).reshape(4, 66), "rising": -stairs(264).reshape(4, 66)}
    return (
        *(
            softmax(
                f"tiles_{count}", f"rows of {count} numbers whose tiles have lower maxima, higher ones, or both in turn"
            )(rows[count], clauses=STABLE, profile="stress", sample=some(6 * count, 6))
            for count in LENGTHS
        ),
        softmax("tiles_264_axis_0", "the same down columns of 264")(
            down, clauses=(*AXIS, "softmax.stability"), profile="stress", axis=0, sample=some(down.size)
        ),
        softmax("tiles_136_axis_1", "the same along the middle of three axes")(
            across, clauses=(*AXIS, "softmax.stability"), profile="stress", axis=1, sample=some(across.size)
        ),
        *(
            softmax(f"tiles_264_whole_{name}", f"a table of 264 numbers as a whole, {name}")(
                x, clauses=("softmax.axis.whole", "softmax.stability"), profile="stress", axis=None, sample=some(x.size)
            )
            for name, x in whole.items()
        ),
    )


@headed
def in_tiles(
    name: str, title: str, operation: str, inputs: Mapping[str, NDArray[Any]], rows: int, **attributes: Any
) -> AuthoredCase:
    """Make a case of an operation that holds a softmax; its output has so many numbers."""
    context, several = operation == "context_vector", operation == "multi_head_attention"
    short = operation.removesuffix("_attention")
    return AuthoredCase(
        id=f"stress/{short.removesuffix('_vector')}_tiles_{name}",
        title=title,
        operation=operation,
        clauses=(f"{short}.{'softmax' if context else 'softmax.keys'}", f"{short}.scale.explicit"),
        source=made_for("stress"),
        inputs=inputs,
        attributes={**({"num_heads": 1} if several else {}), **attributes},
        outputs=("context" if context else "output",),
        dtypes=EVERY_DTYPE,
        sample={} if rows < 50 else {"output": some(rows)},
    )


def context_cases() -> tuple[AuthoredCase, ...]:
    """Hold context vectors of states that score as high as they are."""
    scales = (
        ("falling_far", 264, 1.0, "fall far"),
        ("rising_far", 264, -1.0, "rise far"),
        ("rising", 136, -NEAR, "rise"),
    )
    return tuple(
        in_tiles(f"{count}_{name}", f"Context vector: {count} scores that {what} from tile to tile")(
            "context_vector",
            {"encoder_states": stairs(count)[:, np.newaxis], "decoder_state": np.ones(1)},
            1,
            scale=scale,
        )
        for name, count, scale, what in scales
    )


def layer_cases() -> tuple[AuthoredCase, ...]:
    """Hold layers, in which each of four queries sees the same keys far or near, falling or rising."""
    one = np.eye(1)
    counts = {72: ends, 264: stairs}
    matrices = dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), one)
    # The first feature of a token asks, the second one answers.
    first, second = np.eye(2)[:, :1], np.eye(2)[:, 1:]
    return (
        *(
            in_tiles(str(count), f"Single head: rows of {count} scores with another maximum in each tile")(
                "single_head_attention",
                {
                    "x": np.stack([np.resize(FACTORS, count), shape(count)], axis=-1),
                    "w_query": first,
                    "w_key": second,
                    "w_value": second,
                },
                count,
                scale=1.0,
            )
            for count, shape in counts.items()
        ),
        *(
            in_tiles(str(count), f"Multi-head: rows of {count} scores with another maximum in each tile")(
                "multi_head_attention",
                {
                    "query": FACTORS.reshape(1, 4, 1),
                    "key": shape(count).reshape(1, count, 1),
                    "value": (np.arange(count) // 16.0).reshape(1, count, 1),
                    **matrices,
                },
                4,
                scale=1.0,
            )
            for count, shape in counts.items()
        ),
    )


FAINT = -24.0
"""A weight of 4e-11: a hundred thousand roundings of float64."""
FIRST = 8
"""Keys of ordinary weight: fewer than any tile has."""
FAINT_LENGTHS = (19, 72, 136)
"""Beyond a tile of 8 or 16, of 32 or 64, and of 128."""


def faint_tiles_cases() -> Iterator[AuthoredCase]:
    """Return rows that begin or end with keys of ordinary weight."""
    for keys in FAINT_LENGTHS:
        behind = np.arange(keys) >= FIRST
        for order, is_faint in (("falling", behind), ("rising", behind[::-1])):
            case_id = f"stress/faint_{order}_over_{keys}_keys"
            values = grid(f"{case_id}/value", (keys,)) + 4.0
            yield attention(case_id, f"{keys} keys, most of them of a weight of 4e-11, {order}")(
                shared(keys),
                clauses="output softmax.keys",
                dtypes=("float64",),
                query=query_of(1.0, 0.9375, 1.0625),
                key=row(np.where(is_faint, FAINT, 0.0)),
                value=row(values),
                scale=1.0,
            )


KEYS = 16
FAR_BELOW = -800.0
"""No exponential of it is a number of float64: a maximum of 0, taken of a part without keys, hides all others."""


def parts_cases() -> Iterator[AuthoredCase]:
    """Return cases of keys in parts, of which each head lacks another, and of large queries beside small keys."""
    for parts in (2, 4):
        case_id = f"stress/one_query_without_one_of_{parts}_parts"
        part = np.arange(KEYS) // (KEYS // parts)
        yield attention(
            case_id, f"One query with scores around -800, each head without another of {parts} parts of the keys"
        )(
            Sizes(3, parts, 1, 1, KEYS, 1),
            also="logsumexp",
            query=np.full((3, parts, 1, 1), 16.0),
            key=np.repeat(row(FAR_BELOW / 16.0 - np.arange(KEYS) % 4 / 4.0), 3, axis=0),
            mask=(part != np.arange(parts)[:, np.newaxis])[:, np.newaxis],
            scale=1.0,
        )
    scores = np.array([3.0, 1.0, 2.0, 4.0, 1.0, 2.0])
    yield from (
        *(
            attention(
                f"stress/scaled_queries_beyond_float16_{name}",
                f"Queries that exceed float16 once they are multiplied by {scale:g}, and small keys",
            )(
                shared(6),
                query=query_of(first, -first, first / 2.0),
                key=row(scores * 2.0**-13),
                value=row(grid(f"stress/scaled_queries_{name}/value", (6,))),
                scale=scale,
            )
            for name, scale, first in (("by_8", 8.0, 2.0**13), ("by_2", 2.0, 2.0**15))
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *softmax_cases(),
        *context_cases(),
        *layer_cases(),
        # Hold the same in attention itself.
        *(
            attention(
                f"stress/tiles_{count}_{name}",
                f"{count} keys with another maximum of scores in each tile, high {where}",
            )(
                Sizes(1, 2, 1, 4, count, 1),
                clauses="softmax.stability",
                also="logsumexp",
                query=query_of(*FACTORS),
                key=row(scores),
                value=row(np.asarray(np.arange(count) // 16, np.float64)),
                scale=1.0,
            )
            for name, where, count, scores in (
                ("stairs", "in front", 264, stairs(264)),
                ("ends", "at both ends", 136, ends(136)),
            )
        ),
        *faint_tiles_cases(),
        *parts_cases(),
    )
