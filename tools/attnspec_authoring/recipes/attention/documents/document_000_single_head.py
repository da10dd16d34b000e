"""Document 000: single-head attention by several routes that should agree.

The document draws new unseeded numbers in every cell, so its inputs are lost; only its shapes (three
tokens, width 12) and the projections that one cell printed can be compared. The inputs here are stored ones of
the same shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.documents.printed import rows
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Printed, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = "000_2ac35f9ff703a433.txt"

TOKENS = 3
WIDTH = 12

STEPS = ("output", "weights", "scores", "query", "key", "value")

SINGLE_HEAD_CLAUSES = (
    "single_head.projections",
    "single_head.scores",
    "single_head.scale.explicit",
    "single_head.softmax.keys",
    "single_head.output",
    "single_head.output_projection",
)

PRINTED_QUERY = rows(
    "2.74164853 2.16543522 3.11395906 1.81372275 3.61045065 2.25350768"
    " 2.4131675  1.75332325 2.64397586 2.36416384 3.40024893 2.80104433",
    "3.86351318 3.06026361 3.73121894 2.31102605 4.31653228 2.19899644"
    " 3.5773023  2.39155238 3.38761674 3.42601296 4.26252272 3.38465289",
    "3.12868281 2.78401292 2.6377517  2.07847662 3.97412076 2.39345565"
    " 2.89580702 2.36366808 2.98321191 3.41700392 3.74121058 2.30881082",
)
PRINTED_KEY = rows(
    "2.55193091 2.28271    3.0672082  3.19981717 1.79893658 2.38405286"
    " 3.20266548 3.22662727 3.01204698 2.64811881 2.62990482 2.91258509",
    "3.18274375 3.12399677 3.44239717 3.91213621 2.6854836  3.70796548"
    " 3.30034205 4.54121761 4.24141233 3.5039551  2.9552325  4.00057431",
    "2.89827177 3.22737594 2.62614944 3.39441195 2.47542763 2.55954154"
    " 2.85613994 3.43214411 3.47064866 3.59597897 2.54266209 3.22358044",
)
# The document breaks off inside the eighth score, after "120.6".
PRINTED_SCORES = rows(
    "83.87261953 108.03645489 92.23718861", "108.20991025 138.66504892 119.28251361", "93.43469087 ? ?"
)


def on_grid(uniform: NDArray[np.float64], largest: float = 1.0) -> NDArray[np.float64]:
    """Stretch uniform numbers to [0, `largest`] and round them to multiples of 1/128.

    Multiples of 1/128 up to 1 have at most eight significant bits, so they are exact in every
    dtype of the suite.
    """
    return np.round(uniform * largest * 128.0) / 128.0


def single_head_inputs(seed: int, largest_x: float = 1.0) -> dict[str, NDArray[Any]]:
    """Draw `x` (3,12) and the four weight matrices (12,12) in the order in which the document draws them."""
    # Uniform draws are pure integer arithmetic and one division: the same numbers on every machine.
    random = np.random.RandomState(seed)
    x = on_grid(random.random_sample((TOKENS, WIDTH)), largest_x)
    w_output, w_value, w_key, w_query = (on_grid(random.random_sample((WIDTH, WIDTH))) for _ in range(4))
    return {"x": x, "w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": w_output}


def as_heads(matrix: list[list[str | None]]) -> NDArray[np.float64]:
    """Turn a printed matrix (S,E) into one batch of one head (1,1,S,E), float64."""
    return np.array([[matrix]], dtype=np.float64)


def single_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold four cases of equal shapes: two with large scores, two where every key counts."""
    as_drawn = Source(DOCUMENT, "In [4]: single_head_attention_with_weights, with stored inputs of the same shapes")
    gentle = Source(DOCUMENT, "In [4]: single_head_attention_with_weights, with stored inputs of smaller tokens")
    # In half precision scores near 100, as the first of these cases has, are too uncertain to grade anything.
    variants = (
        ("single_head", "with three tokens of width 12", 0, 1.0, SINGLE_AND_DOUBLE, as_drawn),
        ("single_head_other_values", "with other values in the same shapes", 1, 0.5, SINGLE_AND_DOUBLE, as_drawn),
        ("single_head_gentle", "where every key has a share", 2, 0.25, EVERY_DTYPE, gentle),
        ("single_head_gentle_other_values", "where every key has another share", 3, 0.25, EVERY_DTYPE, gentle),
    )
    return tuple(
        AuthoredCase(
            id=f"documents/000/{name}",
            title=f"Unscaled single-head attention {what}, followed by an output projection",
            operation="single_head_attention",
            clauses=SINGLE_HEAD_CLAUSES,
            source=source,
            inputs=single_head_inputs(seed, largest_x),
            attributes={"scale": 1.0},
            outputs=STEPS,
            dtypes=dtypes,
            errata=("E000.softmax_axis", "E000.einsum_sums_out_weights"),
        )
        for name, what, seed, largest_x, dtypes, source in variants
    )


def printed_scores_case() -> AuthoredCase:
    """Recompute the scores from the queries and keys that one cell printed."""
    section = "In [5]: debug_attention_steps"
    return AuthoredCase(
        id="documents/000/scores_from_printed_projections",
        title="The scores recomputed from the printed queries and keys",
        operation="scaled_dot_product_attention",
        clauses=("sdpa.scores", "sdpa.scale.explicit", "sdpa.softmax.keys", "sdpa.output"),
        source=Source(DOCUMENT, section),
        inputs={
            "query": as_heads(PRINTED_QUERY),
            "key": as_heads(PRINTED_KEY),
            # The document cut its values off; these only have to distinguish the three keys.
            "value": np.arange(TOKENS * WIDTH, dtype=np.float64).reshape(1, 1, TOKENS, WIDTH),
        },
        attributes={"scale": 1.0},
        outputs=("output", "scores"),
        dtypes=SINGLE_AND_DOUBLE,
        printed=(
            Printed(of="query", section=f"{section}, Q_ref", data=PRINTED_QUERY, index=(0, 0)),
            Printed(of="key", section=f"{section}, K_ref", data=PRINTED_KEY, index=(0, 0)),
            Printed(
                of="scores",
                section=f"{section}, attention_scores_ref",
                data=PRINTED_SCORES,
                index=(0, 0),
                rounded_inputs={"query": 8, "key": 8},
            ),
        ),
    )


def far_apart_case() -> AuthoredCase:
    """Give one query scores so far below another's that a common maximum would leave it only zeros."""
    query = np.array([[[[1.0, 0.0], [0.0, 2.0], [512.0, 512.0]]]])
    key = np.array([[[[1.0, 2.0], [2.0, 1.0], [1.5, 1.5]]]])
    value = np.array([[[[1.0, 5.0], [2.0, 4.0], [4.0, 3.0]]]])
    return AuthoredCase(
        id="documents/000/scores_far_apart",
        title="Queries whose scores lie more than 745 apart need a maximum each",
        operation="scaled_dot_product_attention",
        clauses=("sdpa.softmax.stability", "sdpa.softmax.keys", "sdpa.scale.explicit"),
        source=Source(DOCUMENT, "In [4]: softmax, which subtracts one maximum from the whole matrix"),
        inputs={"query": query, "key": key, "value": value},
        attributes={"scale": 1.0},
        outputs=("output", "weights", "logsumexp"),
        dtypes=EVERY_DTYPE,
        errata=("E000.global_maximum",),
        revision=2,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return every case that document 000 supports."""
    return (*single_head_cases(), printed_scores_case(), far_apart_case())
