"""Large and small numbers side by side, and all weight in one feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, Sizes, profile
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, WITHOUT_FLOAT16
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

stress = profile("stress")

BATCH = Sizes(3, 2, 2, 4, 5)
PLAIN = Sizes(1, 2, 2, 4, 5)
SMALL = Sizes(1, 2, 2, 4, 6)
STEPS = ("output", "weights", "logsumexp")
STABLE = ("sdpa.softmax.stability",)


def with_scores(scores: list[list[float]], *, of_values: NDArray[Any] | None = None) -> dict[str, Any]:
    """Make two heads whose scores are the rows given, the second head's in reverse order of keys.

    The queries are unit vectors and the scale is 1, so that a key's features are its scores.
    """
    table = np.array(scores)
    key = np.stack([table.T, table.T[::-1]])[np.newaxis]
    queries, keys = table.shape
    drawn = grid(f"scores of {queries} x {keys}/value", (1, 2, keys, queries))
    query = np.broadcast_to(np.eye(queries), (1, 2, queries, queries))
    return {"query": query, "key": key, "value": drawn if of_values is None else of_values, "scale": 1.0}


def large_cases() -> tuple[AuthoredCase, ...]:
    """Hold scores whose exponentials overflow, vanish, or differ by little at great height."""
    shapes = PLAIN.shapes()
    sharp = PLAIN.drawn("stress/sharp")
    positive: dict[str, Any] = {
        "query": np.abs(grid("stress/positive/query", shapes["query"])) * 16.0 + 64.0,
        "key": np.abs(grid("stress/positive/key", shapes["key"])) * 16.0 + 64.0,
    }
    heights = ((12000.0, "twelve_thousand"), (-12000.0, "minus_twelve_thousand"), (1048576.0, "a_million"))
    return (
        stress("sharp", "Scores of some tens: one key has most of the weight")(
            PLAIN, clauses=STABLE, **{**sharp, "query": sharp["query"] * 8.0}
        ),
        stress("one_hot", "Scores of some hundreds: one key has all the weight")(
            PLAIN, clauses=STABLE, **{**sharp, "query": sharp["query"] * 64.0}
        ),
        stress("large_positive", "Every score above ten thousand, with neighbours that differ by hundreds")(
            PLAIN, report="HabanaAI/vllm-fork/issues/275", clauses=STABLE, dtypes=SINGLE_AND_DOUBLE, **positive
        ),
        stress("large_negative", "Every score below minus ten thousand")(
            PLAIN, clauses=STABLE, dtypes=SINGLE_AND_DOUBLE, query=positive["query"], key=-positive["key"]
        ),
        *(
            stress(f"near_{name}", f"Scores around {height:g} that differ by less than one")(
                SMALL,
                clauses=STABLE,
                dtypes=SINGLE_AND_DOUBLE,
                outputs=STEPS,
                **with_scores(
                    [
                        [height + step * 0.25 for step in (0, 3, -2, 1, -4, 2)],
                        [height + step * 0.5 for step in (1, -1, 2, -3, 0, 1)],
                        [height - step * 0.75 for step in (0, 1, 2, 3, 4, 5)],
                    ]
                ),
            )
            for height, name in heights
        ),
        stress(
            "hundreds_in_every_dtype",
            "Scores around plus and minus 120, whose exponentials overflow or vanish in single precision",
        )(
            SMALL,
            clauses=STABLE,
            outputs=STEPS,
            revision=2,
            **with_scores(
                [
                    [120.0, 119.0, 118.0, 112.0, 116.0, 119.0],
                    [-120.0, -124.0, -119.0, -122.0, -120.0, -128.0],
                    [96.0, -96.0, 95.0, 94.0, 0.0, 96.0],
                ]
            ),
        ),
        stress(
            "thousands_in_double",
            "Scores around plus and minus 1500, whose exponentials overflow or vanish in double precision",
        )(
            SMALL,
            clauses=STABLE,
            dtypes=SINGLE_AND_DOUBLE,
            outputs=STEPS,
            **with_scores(
                [
                    [1500.0, 1499.0, 1498.0, 1492.0, 1496.0, 1499.0],
                    [-1500.0, -1504.0, -1499.0, -1502.0, -1500.0, -1508.0],
                    [900.0, -900.0, 899.0, 898.0, 0.0, 900.0],
                ]
            ),
        ),
        stress("one_query_large", "One query whose scores are some thousands")(
            Sizes(3, 2, 1, 1, 4, 1),
            clauses=STABLE,
            report="vllm-project/vllm/issues/45500",
            query=np.full((3, 2, 1, 1), 64.0),
            key=np.broadcast_to(np.array([[32.0], [48.0], [-64.0], [0.0]]), (3, 1, 4, 1)),
            scale=1.0,
        ),
        stress(
            "scale_negative_far", "A negative scale and products far apart: the largest product has the smallest score"
        )(
            shared(4),
            clauses=STABLE,
            report="Dao-AILab/flash-attention/issues/1884",
            query=query_of(1.0, -1.0, 0.5),
            key=row(np.array([0.0, 1536.0, -1536.0, 768.0])),
            scale=-1.0,
        ),
    )


def half_edge_cases() -> tuple[AuthoredCase, ...]:
    """Hold numbers near the ends of half precision."""
    same = Sizes(1, 2, 2, 3, 4, width=2)
    shapes = same.shapes()
    huge: dict[str, Any] = {"query": np.full(shapes["query"], 256.0), "key": np.full(shapes["key"], 256.0)}
    edge = [
        [57344.0, 53248.0, 40960.0, 32768.0],
        [-57344.0, -40960.0, -53248.0, -49152.0],
        [57344.0, -57344.0, 0.0, 8192.0],
    ]
    tiny = PLAIN.drawn("stress/subnormal_values")
    return (
        stress("raw_products_beyond_float16", "Products of 131072 that the scale brings back to 1024")(
            same,
            clauses="precision.accumulation",
            report="philipturner/metal-flash-attention/issues/8",
            scale=0.0078125,
            revision=2,
            **huge,
        ),
        stress("scores_beyond_float16", "Equal scores of 92682, more than float16 holds: every key weighs the same")(
            same, clauses=STABLE, dtypes=WITHOUT_FLOAT16, revision=2, **huge
        ),
        stress("scores_at_the_edge_of_float16", "Scores up to 57344, thousands apart")(
            Sizes(1, 2, 2, 3, 4), clauses=STABLE, **with_scores(edge)
        ),
        stress("sum_beyond_float16", "Values of 49152: their sum is beyond float16, their mean is not")(
            PLAIN,
            clauses="precision.accumulation",
            value=np.where(grid("stress/sum_beyond_float16/sign", PLAIN.shapes()["value"]) < -1.0, 40960.0, 49152.0),
        ),
        *(
            stress(
                f"sum_beyond_float16_{name}",
                f"Values around 49152 of {keys} keys, {what}: their sum is beyond float16, their mean is not",
            )(
                Sizes(2, 4, 1, queries, keys, 3, 1),
                clauses="precision.accumulation",
                value=np.where(grid(f"stress/sum_beyond_float16_{name}/sign", (2, 1, keys, 1)) < 0.0, 40960.0, 49152.0),
            )
            for name, what, queries, keys in (
                ("one_query", "one query", 1, 21),
                ("one_query_of_many_keys", "one query", 1, 131),
                ("many_keys", "three queries", 3, 67),
            )
        ),
        stress("subnormal_values", "Values so small that float16 holds them only as subnormal numbers")(
            PLAIN, clauses="output", **{**tiny, "value": tiny["value"] * 2.0**-19}
        ),
        stress("subnormal_values_one_key", "One key: a subnormal value comes out as it is")(
            Sizes(3, 2, 2, 4, 1),
            clauses="output",
            value=grid("stress/subnormal_values_one_key/value", (3, 2, 1, 3)) * 2.0**-19,
        ),
        stress("subnormal_queries", "Queries so small that all keys weigh almost the same")(
            PLAIN, clauses="scores", query=grid("stress/subnormal_queries/query", PLAIN.shapes()["query"]) * 2.0**-19
        ),
        stress("subnormal_queries_scaled_up", "Queries of some 2**-20, which the scale brings back to size")(
            shared(4),
            report="huggingface/diffusers/pull/2643",
            query=query_of(1.0, -2.0, 0.5) * 2.0**-20,
            key=row(np.array([-2.0, 1.0, 2.0, 0.5])),
            scale=2.0**20,
        ),
        stress("small_weight_large_value", "A key with a weight of about 1e-7 and a value of about 1e6")(
            SMALL,
            clauses="output",
            dtypes=SINGLE_AND_DOUBLE,
            **with_scores(
                [
                    [0.0, 1.0, -16.0, 0.5, -1.0, 0.25],
                    [2.0, 1.0, -15.0, 1.5, -1.0, 0.0],
                    [0.0, 0.5, -17.0, 1.0, 0.75, 0.0],
                ],
                of_values=np.where(
                    (np.arange(6) == 2)[:, np.newaxis], 1048576.0, grid("stress/small_weight/value", (1, 2, 6, 3))
                ),
            ),
        ),
    )


def tie_cases() -> tuple[AuthoredCase, ...]:
    """Hold keys that are equal or nearly so, and values that cancel."""
    shapes = SMALL.shapes()
    one = grid("stress/ties/key", (1, 2, 1, 3))
    near = np.broadcast_to(one, shapes["key"]).copy()
    near[0, :, :, 1] += np.arange(6.0) * 0.03125
    pairs = grid("stress/cancelling/value", (1, 2, 3, 3)) * 64.0
    cancelling = np.stack([pairs, -pairs], axis=3).reshape(1, 2, 6, 3)
    twice = grid("stress/ties/twice", (1, 2, 3, 3))
    return (
        stress("near_ties", "Keys that differ by one thirty-second in one feature")(
            SMALL, clauses="scores", also="weights", key=near
        ),
        stress("ties", "Every key occurs twice, with another value")(
            SMALL, clauses="softmax.keys", key=np.concatenate([twice, twice], axis=2)
        ),
        stress("ties_far_up", "Two keys share the highest score, far above the others")(
            Sizes(1, 2, 2, 3, 6),
            clauses=STABLE,
            also="weights",
            revision=2,
            **with_scores(
                [[96.0, 0.0, 96.0, 1.0, -1.0, 2.0], [0.0, 64.0, 1.0, 64.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 80.0, 80.0]]
            ),
        ),
        stress("cancelling_values", "Large values of both signs that almost cancel")(
            SMALL, clauses="output", key=near, value=cancelling
        ),
        stress("cancelling_exactly", "Equal keys and values of both signs: zero comes out, exactly")(
            SMALL, clauses="output", key=np.broadcast_to(one, shapes["key"]), value=cancelling
        ),
        stress("massive_feature", "One feature is a hundred times as large as the others")(
            PLAIN,
            clauses="scores",
            query=grid("stress/massive/query", PLAIN.shapes()["query"]) * np.array([1.0, 64.0, 1.0]),
        ),
        stress(
            "outlier_feature",
            "A feature of 512 in all keys that no query asks for: the small feature beside it decides",
        )(
            Sizes(1, 2, 1, 3, 4, 2),
            report="ahb-sjsu/turboquant-pro/pull/98",
            query=np.broadcast_to(np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 0.5]]), (1, 2, 3, 2)),
            key=np.array([[512.0, 1.0], [512.0, -1.0], [512.0, 0.5], [512.0, 0.0]]).reshape(1, 1, 4, 2),
            scale=1.0,
        ),
        stress("massive_value", "One token's values are a thousand times as large as the others")(
            PLAIN,
            clauses="output",
            value=grid("stress/massive/value", PLAIN.shapes()["value"])
            * np.where(np.arange(5) == 3, 1024.0, 1.0)[:, np.newaxis],
        ),
        stress("opposite_heads", "Two heads and batch entries of very different size side by side")(
            BATCH,
            clauses=STABLE,
            revision=2,
            query=grid("stress/opposite/query", BATCH.shapes()["query"])
            * np.array([[0.03125, 64.0], [16.0, 1.0], [0.5, 0.0]]).reshape(3, 2, 1, 1),
        ),
        stress("causal_large", "Causal with scores of some hundreds")(
            PLAIN,
            clauses=STABLE,
            **BOTTOM_CAUSAL,
            query=grid("stress/causal_large/query", PLAIN.shapes()["query"]) * 64.0,
        ),
    )


def query_of(*queries: float) -> NDArray[np.float64]:
    """Let two heads ask the same queries, one feature wide, of one key head."""
    return np.broadcast_to(np.array(queries)[:, np.newaxis], (1, 2, len(queries), 1))


def row(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay one number for each token out as the tokens of one head, one feature wide."""
    return numbers.reshape(1, 1, -1, 1)


def shared(keys: int) -> Sizes:
    """Return sizes for three queries of two heads that share a key head."""
    return Sizes(1, 2, 1, 3, keys, 1)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of sizes."""
    return (*large_cases(), *half_edge_cases(), *tie_cases())
