"""Document 004: two-head self-attention with biases, on arrays that hold one token in each column.

The cases hold the contract's layout, one token in each row, and keep what the document printed in its own
orientation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.documents.printed import rows
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Printed, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = "004_5c8046fafa7f4c7c.txt"

TOKENS = 6
WIDTH = 8
HEADS = 2
HEAD_WIDTH = WIDTH // HEADS

PRINTED_X = rows(
    "1.78862847 0.43650985 0.09649747 -1.8634927 -0.2773882 -0.35475898",
    "-0.08274148 -0.62700068 -0.04381817 -0.47721803 -1.31386475 0.88462238",
    "0.88131804 1.70957306 0.05003364 -0.40467741 -0.54535995 -1.54647732",
    "0.98236743 -1.10106763 -1.18504653 -0.2056499 1.48614836 0.23671627",
    "-1.02378514 -0.7129932 0.62524497 -0.16051336 -0.76883635 -0.23003072",
    "0.74505627 1.97611078 -1.24412333 -0.62641691 -0.80376609 -2.41908317",
    "-0.92379202 -1.02387576 1.12397796 -0.13191423 -1.62328545 0.64667545",
    "-0.35627076 -1.74314104 -0.59664964 -0.58859438 -0.8738823 0.02971382",
)
PRINTED_OUTPUT = rows(
    "-21.207 -5.373 -20.933 -9.179 -11.319 -17.812",
    "-1.995 7.906 -10.516 3.452 9.863 -7.24",
    "5.479 1.115 9.244 0.453 5.656 7.089",
    "-7.413 -7.416 0.363 -5.573 -6.736 -0.848",
    "-11.261 -9.937 -4.848 -8.915 -13.378 -5.761",
    "3.548 10.036 -2.244 1.604 12.113 -2.557",
    "4.888 -5.814 2.407 3.228 -4.232 3.71",
    "1.248 18.894 -6.409 3.224 19.717 -5.629",
)

CLAUSES = (
    "multi_head.projections",
    "multi_head.biases",
    "multi_head.split",
    "multi_head.scale.default",
    "multi_head.softmax.keys",
    "multi_head.combine",
    "multi_head.output_projection",
    "multi_head.weights",
)


def normals(random: np.random.RandomState, *shape: int) -> NDArray[np.float64]:
    """Draw normals and round them to 12 decimals.

    Legacy normals go through the logarithm of the C library, whose last bit differs between machines. The
    rounding hides that bit, so that the files are the same everywhere.
    """
    return np.round(random.normal(size=shape), 12)


def tokens(seed: int) -> NDArray[np.float64]:
    """Draw X (8,6), one token in each column as in the document, and return its tokens as rows (1,6,8)."""
    return normals(np.random.RandomState(seed), WIDTH, TOKENS).T[None]


def parameters() -> dict[str, NDArray[np.float64]]:
    """Draw the parameters of both heads in the document's order, and lay them out as the contract does.

    The document applies each head's (4,8) matrix from the left. Transposed and side by side, the heads make
    one (8,8) matrix that is applied from the right.
    """
    random = np.random.RandomState(0)
    matrices: dict[str, list[NDArray[np.float64]]] = {"query": [], "key": [], "value": []}
    biases: dict[str, list[NDArray[np.float64]]] = {"query": [], "key": [], "value": []}
    for _ in range(HEADS):
        for drawn in matrices.values():
            drawn.append(normals(random, HEAD_WIDTH, WIDTH).T)
        for drawn in biases.values():
            drawn.append(normals(random, HEAD_WIDTH, 1)[:, 0])
    return {
        **{f"w_{name}": np.concatenate(drawn, axis=1) for name, drawn in matrices.items()},
        **{f"b_{name}": np.concatenate(drawn) for name, drawn in biases.items()},
        "w_output": normals(random, WIDTH, WIDTH).T,
    }


def two_heads_cases() -> tuple[AuthoredCase, ...]:
    """Hold the seeded example, the same shapes with other tokens, and the same with an output bias."""
    x, other = tokens(3), tokens(4)
    output_bias = np.arange(1.0, WIDTH + 1.0)
    return (
        AuthoredCase(
            id="documents/004/two_heads",
            title="Two heads with biases on six seeded tokens of width 8",
            operation="multi_head_attention",
            clauses=CLAUSES,
            source=Source(DOCUMENT, "In [3] to In [7]"),
            inputs={"query": x, "key": x, "value": x, **parameters()},
            attributes={"num_heads": HEADS},
            outputs=("output", "weights"),
            dtypes=SINGLE_AND_DOUBLE,
            printed=(
                Printed(of="query", section="In [3]: X", data=PRINTED_X, index=(0,), orientation="transposed"),
                Printed(
                    of="output",
                    section="In [7]: X_prime, which equals the true values printed there",
                    data=PRINTED_OUTPUT,
                    decimals=3,
                    index=(0,),
                    orientation="transposed",
                ),
            ),
            errata=("E004.no_maximum",),
        ),
        AuthoredCase(
            id="documents/004/two_heads_other_values",
            title="Two heads with biases on six other tokens of width 8",
            operation="multi_head_attention",
            clauses=CLAUSES,
            source=Source(DOCUMENT, "In [3] to In [7], with X from another seed"),
            inputs={"query": other, "key": other, "value": other, **parameters()},
            attributes={"num_heads": HEADS},
            outputs=("output", "weights"),
            dtypes=SINGLE_AND_DOUBLE,
        ),
        AuthoredCase(
            id="documents/004/two_heads_output_bias",
            title="Two heads with biases, one of them added to the output",
            operation="multi_head_attention",
            clauses=CLAUSES,
            source=Source(DOCUMENT, "In [3] to In [7], with the output bias that the document leaves out"),
            inputs={"query": x, "key": x, "value": x, **parameters(), "b_output": output_bias},
            attributes={"num_heads": HEADS},
            outputs=("output", "weights"),
            dtypes=SINGLE_AND_DOUBLE,
        ),
    )


def large_scores_cases() -> tuple[AuthoredCase, ...]:
    """Hold scores whose exponentials overflow unless a maximum is subtracted first."""
    # Keys in rows, queries in columns: the document's orientation, in which softmax runs down the columns.
    # Between 512 and 1024, multiples of 4 are the numbers that bfloat16 can hold.
    scores = np.array([[1000.0, 3.0, -1000.0], [1004.0, 2.0, -1004.0], [996.0, 5.0, -996.0]])
    query = np.array([[[[1024.0, 1.0], [512.0, 2.0], [-1024.0, 4.0]]]])
    key = np.array([[[[1.0, 2.0], [1.0, 3.0], [1.0, 1.0]]]])
    value = np.array([[[[1.0, 5.0], [2.0, 4.0], [4.0, 3.0]]]])
    return (
        AuthoredCase(
            id="documents/004/softmax_of_large_columns",
            title="Softmax down columns of scores near 1000 and near -1000",
            operation="softmax",
            clauses=("softmax.definition", "softmax.axis.explicit", "softmax.stability"),
            source=Source(DOCUMENT, "In [5]: softmax_cols, with scores that overflow there"),
            inputs={"x": scores},
            attributes={"axis": 0},
            dtypes=EVERY_DTYPE,
            errata=("E004.no_maximum",),
        ),
        AuthoredCase(
            id="documents/004/attention_with_large_scores",
            title="Attention whose scores overflow an exponential without the maximum subtracted",
            operation="scaled_dot_product_attention",
            clauses=("sdpa.softmax.stability", "sdpa.softmax.keys", "sdpa.scale.explicit", "sdpa.logsumexp"),
            source=Source(DOCUMENT, "In [5]: softmax_cols, with scores that overflow there"),
            inputs={"query": query, "key": key, "value": value},
            attributes={"scale": 1.0},
            outputs=("output", "weights", "logsumexp"),
            # Scores near 1000 differ by single units, which bfloat16 cannot hold.
            dtypes=("float64", "float32", "float16"),
            errata=("E004.no_maximum",),
            revision=2,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return every case that document 004 supports."""
    return (*two_heads_cases(), *large_scores_cases())
