"""Document 003: three questions about encoder-decoder attention, self-attention and two heads.

The document's printed context vector contradicts its own formula (``E003.context_broadcast``). The case
keeps both: the expected values follow the formula, the printed ones stay as printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.documents.printed import row, rows
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Printed, Rejects, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = "003_fd68dee9562e4594.txt"

ENCODER_STATES = np.array(
    [[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]]
)
DECODER_STATES = np.array([[0.58, -0.13, 0.94, 0.22], [0.45, 0.11, -0.88, 0.67]])

TOKENS = np.array([[0.12, -0.87, 0.33, 0.45], [0.76, 0.21, -0.34, 0.67], [0.03, -0.99, 0.42, 0.11]])
W_QUERY = np.array(
    [[0.12, -0.87, 0.33, 0.45], [0.76, 0.21, -0.34, 0.67], [-0.55, 0.18, 0.29, -0.73], [0.03, -0.99, 0.42, 0.11]]
)
W_KEY = np.array(
    [[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]]
)
W_VALUE = np.array(
    [[0.58, -0.13, 0.94, 0.22], [-0.31, 0.66, -0.74, 0.09], [0.45, 0.11, -0.88, 0.67], [-0.92, 0.37, 0.28, -0.5]]
)
# The document asks for the shape of this matrix only. Small integers, not symmetric, and no two rows alike.
W_OUTPUT = np.array([[1.0, 2.0, 0.0, -1.0], [0.0, 1.0, 3.0, 1.0], [2.0, -1.0, 1.0, 0.0], [-1.0, 0.0, 2.0, 1.0]])

PRINTED_TOKENS = rows("0.12 -0.87 0.33 0.45", "0.76 0.21 -0.34 0.67", "0.03 -0.99 0.42 0.11")
PRINTED_QUERY_OF_IS = row("0.4579 -1.3416 0.3622 0.8046")
PRINTED_KEY = rows("0.5445 -0.2472 -0.5106 0.3801", "0.3474 0.7532 0.3604 0.309", "0.5478 -0.6361 -0.4861 0.1562")
PRINTED_VALUE = rows("0.0738 -0.387 0.5922 -0.0558", "-0.3937 0.2503 1.0458 -0.3767", "0.4121 -0.5704 0.422 0.1439")
PRINTED_W_QUERY = rows("0.12 -0.87 0.33 0.45", "0.76 0.21 -0.34 0.67", "-0.55 0.18 0.29 -0.73", "0.03 -0.99 0.42 0.11")
PRINTED_W_KEY = rows("0.64 -0.27 0.89 -0.12", "-0.45 0.33 0.71 0.08", "0.19 -0.94 0.56 0.37", "0.03 0.85 -0.41 0.76")
PRINTED_W_VALUE = rows("0.58 -0.13 0.94 0.22", "-0.31 0.66 -0.74 0.09", "0.45 0.11 -0.88 0.67", "-0.92 0.37 0.28 -0.5")

CONTEXT_OUTPUTS = ("context", "weights", "scores", "raw_scores")
CONTEXT_CLAUSES = ("context_vector.raw_scores", "context_vector.softmax", "context_vector.context")


def context_vector_cases() -> tuple[AuthoredCase, ...]:
    """Hold question 1 as printed, the same shapes with the other decoder state, and without scaling."""
    inputs = {"encoder_states": ENCODER_STATES, "decoder_state": DECODER_STATES[1]}
    return (
        AuthoredCase(
            id="documents/003/context_vector",
            title="The context vector of question 1: scores, scaled scores, weights and weighted sum",
            operation="context_vector",
            clauses=(*CONTEXT_CLAUSES, "context_vector.scale.default"),
            source=Source(DOCUMENT, "Question 1"),
            inputs=inputs,
            outputs=CONTEXT_OUTPUTS,
            dtypes=SINGLE_AND_DOUBLE,
            printed=(
                Printed(of="raw_scores", section="Question 1, In [35]", data=row("-0.6053 -0.7374 -0.2628 0.977")),
                Printed(of="decoder_state", section="Question 1, In [41]", data=[4], quantity="shape"),
                Printed(of="scores", section="Question 1, In [46]", data=row("-0.30265 -0.3687 -0.1314 0.4885")),
                Printed(
                    of="weights", section="Question 1, In [51]", data=row("0.1876594 0.17566497 0.22271181 0.41396383")
                ),
                Printed(
                    of="context",
                    section="Question 1, In [52]",
                    data=row("0.07694035 -0.00526995 0.38974566 0.45122057"),
                    erratum="E003.context_broadcast",
                ),
            ),
            errata=("E003.context_broadcast", "E003.ignored_parameter", "E003.dimension_of_itself"),
        ),
        AuthoredCase(
            id="documents/003/context_vector_other_decoder_state",
            title="The context vector of the other decoder state: equal shapes, other values",
            operation="context_vector",
            clauses=(*CONTEXT_CLAUSES, "context_vector.scale.default"),
            source=Source(DOCUMENT, "Question 1, In [30], first row of h_i_d"),
            inputs={"encoder_states": ENCODER_STATES, "decoder_state": DECODER_STATES[0]},
            outputs=CONTEXT_OUTPUTS,
            dtypes=SINGLE_AND_DOUBLE,
            errata=("E003.context_broadcast",),
        ),
        AuthoredCase(
            id="documents/003/context_vector_unscaled",
            title="The context vector when the scores are not scaled",
            operation="context_vector",
            clauses=(*CONTEXT_CLAUSES, "context_vector.scale.explicit"),
            source=Source(DOCUMENT, "Question 1, without In [46]"),
            inputs=inputs,
            attributes={"scale": 1.0},
            outputs=CONTEXT_OUTPUTS,
            dtypes=SINGLE_AND_DOUBLE,
            errata=("E003.weights_equated_with_scores",),
        ),
        AuthoredCase(
            id="documents/003/context_vector_width_mismatch",
            title="A decoder state that is narrower than the encoder states is refused",
            operation="context_vector",
            clauses=("context_vector.rejects.width",),
            source=Source(DOCUMENT, "Question 1, In [40]: the dimension mismatch of get_hidden_state_dimension"),
            inputs={"encoder_states": ENCODER_STATES, "decoder_state": DECODER_STATES[1, :3]},
            outputs=("context",),
            dtypes=SINGLE_AND_DOUBLE,
            rejects=Rejects(
                reason="The encoder states have width 4 and the decoder state has width 3.",
                counterpart="documents/003/context_vector",
            ),
            errata=("E003.dimension_of_itself",),
        ),
    )


def self_attention_case() -> AuthoredCase:
    """Hold question 2, which asks for the token "is", the second of three; all rows are certified."""
    return AuthoredCase(
        id="documents/003/self_attention",
        title='Self-attention of "this is translation"; the document prints the row of "is"',
        operation="single_head_attention",
        clauses=(
            "single_head.projections",
            "single_head.scores",
            "single_head.scale.default",
            "single_head.softmax.keys",
            "single_head.output",
        ),
        source=Source(DOCUMENT, "Question 2"),
        inputs={"x": TOKENS, "w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE},
        outputs=("output", "weights", "query", "key", "value"),
        dtypes=SINGLE_AND_DOUBLE,
        printed=(
            Printed(of="x", section="Question 2, In [84]", data=PRINTED_TOKENS),
            Printed(of="x", section="Question 2, In [86]: n", data=[4], quantity="shape", index=(1,)),
            Printed(of="query", section="Question 2, In [99]", data=PRINTED_QUERY_OF_IS, index=(1,)),
            Printed(of="query", section="Question 2, In [93]", data=[4], quantity="shape", index=(1,)),
            Printed(of="key", section="Question 2, In [89]", data=PRINTED_KEY),
            Printed(of="key", section="Question 2, In [92]", data=[4, 3], quantity="shape", orientation="transposed"),
            Printed(of="value", section="Question 2, In [90]", data=PRINTED_VALUE),
            Printed(
                of="weights", section="Question 2, In [109]", data=row("0.3638497 0.2022857 0.4338646"), index=(1,)
            ),
            Printed(
                of="output",
                section="Question 2, In [110]",
                data=row("0.12600783 -0.33765409 0.61011304 -0.03407072"),
                index=(1,),
            ),
        ),
        errata=("E003.query_shape_out_of_order", "E003.output_named_scores"),
    )


def split_case(name: str, matrix: NDArray[np.float64], printed: list[list[str | None]], cell: str) -> AuthoredCase:
    """Split the columns of one 4x4 weight matrix into two heads of 4x2, as question 3 does."""
    letter = f"W_{name[0].upper()}"
    first, second = ([line[part] for line in printed] for part in (slice(0, 2), slice(2, 4)))
    return AuthoredCase(
        id=f"documents/003/split_{name}_weights",
        title=f"The {name} weights split into two heads of 4x2",
        operation="split_heads",
        clauses=("split_heads.order", "split_heads.shape"),
        source=Source(DOCUMENT, f"Question 3, split of {letter}"),
        inputs={"x": matrix[None]},
        attributes={"num_heads": 2},
        dtypes=SINGLE_AND_DOUBLE,
        printed=(
            Printed(of="x", section=f"Question 3, {letter}", data=printed, index=(0,)),
            Printed(of="output", section=f"Question 3, {cell}, head 1", data=first, index=(0, 0)),
            Printed(of="output", section=f"Question 3, {cell}, head 2", data=second, index=(0, 1)),
        ),
        errata=("E003.head_weight_shape",),
    )


def concatenation_cases() -> tuple[AuthoredCase, ...]:
    """Concatenate what question 3 should have (the heads), and what it did (slices of W_V)."""
    # A head has the shape of its values, so the printed values of question 2, halved, stand in for the heads.
    values = np.array(PRINTED_VALUE, dtype=np.float64)
    section = "Question 3, In [127]"
    return (
        AuthoredCase(
            id="documents/003/concatenated_heads",
            title="Two heads of 3x2 concatenated give 3x4, not 4x4",
            operation="combine_heads",
            clauses=("combine_heads.order", "combine_heads.shape"),
            source=Source(DOCUMENT, section),
            inputs={"x": np.stack([values[:, :2], values[:, 2:]])[None]},
            dtypes=SINGLE_AND_DOUBLE,
            printed=(
                Printed(
                    of="output",
                    section=section,
                    data=[4, 4],
                    quantity="shape",
                    index=(0,),
                    erratum="E003.concatenated_weights",
                ),
                Printed(of="output", section="Question 3: A (3x4) * (4x4)", data=[3, 4], quantity="shape", index=(0,)),
            ),
            errata=("E003.concatenated_weights",),
        ),
        AuthoredCase(
            id="documents/003/concatenated_value_weights",
            title="The two slices of the value weights concatenated give the value weights back",
            operation="combine_heads",
            clauses=("combine_heads.order", "combine_heads.shape"),
            source=Source(DOCUMENT, section),
            inputs={"x": np.stack([W_VALUE[:, :2], W_VALUE[:, 2:]])[None]},
            dtypes=SINGLE_AND_DOUBLE,
            printed=(
                Printed(of="output", section=section, data=[4, 4], quantity="shape", index=(0,)),
                Printed(of="output", section="Question 3, In [122]", data=PRINTED_W_VALUE, index=(0,)),
            ),
            errata=("E003.concatenated_weights",),
        ),
    )


def two_heads_case() -> AuthoredCase:
    """Hold question 3 to its end: two heads, and an output matrix of the shape that it asks for."""
    return AuthoredCase(
        id="documents/003/two_heads",
        title="Self-attention with two heads and an output matrix of 4x4",
        operation="multi_head_attention",
        clauses=(
            "multi_head.projections",
            "multi_head.split",
            "multi_head.scale.default",
            "multi_head.softmax.keys",
            "multi_head.combine",
            "multi_head.output_projection",
            "multi_head.weights",
        ),
        source=Source(DOCUMENT, "Question 3, with a stored output matrix"),
        inputs={
            "query": TOKENS[None],
            "key": TOKENS[None],
            "value": TOKENS[None],
            "w_query": W_QUERY,
            "w_key": W_KEY,
            "w_value": W_VALUE,
            "w_output": W_OUTPUT,
        },
        attributes={"num_heads": 2},
        outputs=("output", "weights"),
        dtypes=SINGLE_AND_DOUBLE,
        printed=(
            Printed(of="w_output", section="Question 3: dimensions of W^O", data=[4, 4], quantity="shape"),
            Printed(of="w_query", section="Question 3, In [118]", data=PRINTED_W_QUERY),
            Printed(of="w_key", section="Question 3, In [120]", data=PRINTED_W_KEY),
            Printed(of="w_value", section="Question 3, In [122]", data=PRINTED_W_VALUE),
        ),
        errata=("E003.head_weight_shape", "E003.heads_reduce_compute", "E003.heads_split_the_sequence"),
    )


def four_heads_of_width_one_case() -> AuthoredCase:
    """Split as far as it goes; small integers keep every dtype exact."""
    return AuthoredCase(
        id="documents/003/split_into_single_columns",
        title="A 4x4 matrix split into four heads of one column each",
        operation="split_heads",
        clauses=("split_heads.order", "split_heads.shape"),
        source=Source(DOCUMENT, "Question 3, In [116]: split_heads, with as many heads as columns"),
        inputs={"x": np.arange(1.0, 17.0).reshape(1, 4, 4)},
        attributes={"num_heads": 4},
        dtypes=EVERY_DTYPE,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return every case that document 003 supports."""
    return (
        *context_vector_cases(),
        self_attention_case(),
        split_case("query", W_QUERY, PRINTED_W_QUERY, "In [119]"),
        split_case("key", W_KEY, PRINTED_W_KEY, "In [121]"),
        split_case("value", W_VALUE, PRINTED_W_VALUE, "In [123]"),
        four_heads_of_width_one_case(),
        *concatenation_cases(),
        two_heads_case(),
    )
