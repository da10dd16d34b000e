"""Document 001: one attention head step by step, with every step printed.

Three tokens of width 4 and integer weights, so that all but the softmax can be checked by hand.
"""

from __future__ import annotations

import numpy as np

from attnspec_authoring.recipes.attention.documents.printed import row, rows
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, Printed, Source

DOCUMENT = "001_97c79d128fd4cf2f.txt"

TOKENS = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
W_QUERY = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
W_KEY = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
W_VALUE = np.array([[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])

# Products of small integers: typed in here as the document printed them, and exact.
QUERY = np.array([[1.0, 0.0, 2.0], [2.0, 2.0, 2.0], [2.0, 1.0, 3.0]])
KEY = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 0.0], [2.0, 3.0, 1.0]])
VALUE = np.array([[1.0, 2.0, 3.0], [2.0, 8.0, 0.0], [2.0, 6.0, 3.0]])
SCORES = np.array([[2.0, 4.0, 4.0], [4.0, 16.0, 12.0], [4.0, 12.0, 10.0]])

SOFTMAX_EXAMPLE = np.array([[1.0, 0.5, 0.2, 3.0], [1.0, -1.0, 7.0, 3.0], [2.0, 12.0, 13.0, 3.0]])

PRINTED_QUERY = rows("1. 0. 2.", "2. 2. 2.", "2. 1. 3.")
PRINTED_KEY = rows("0. 1. 1.", "4. 4. 0.", "2. 3. 1.")
PRINTED_VALUE = rows("1. 2. 3.", "2. 8. 0.", "2. 6. 3.")
PRINTED_SCORES = rows("2. 4. 4.", "4. 16. 12.", "4. 12. 10.")
PRINTED_WEIGHTS = rows(
    "0.06337894 0.46831053 0.46831053",
    "6.03366485e-06 9.82007865e-01 1.79861014e-02",
    "2.95387223e-04 8.80536902e-01 1.19167711e-01",
)
PRINTED_WEIGHTED_VALUES = rows(
    "0.06337894 0.12675788 0.19013681", "0.93662106 3.74648425 0.", "0.93662106 2.80986319 1.40493159"
)
PRINTED_FIRST_OUTPUT = row("1.93662106 6.68310531 1.59506841")

SECTION_SCORES = "Step 4: scaled attention scores, In [9]"
SECTION_WEIGHTS = "Step 5: scaled softmax attention scores, In [10]"
SECTION_SUM = "Step 7: summing up the results, In [16]"


def single_head_case() -> AuthoredCase:
    """Hold steps 1 to 7 for all three inputs; the document prints the output of the first one only."""
    return AuthoredCase(
        id="documents/001/single_head",
        title="One attention head on three tokens, from the input to the output, step by step",
        operation="single_head_attention",
        clauses=(
            "single_head.projections",
            "single_head.scores",
            "single_head.scale.explicit",
            "single_head.softmax.keys",
            "single_head.output",
        ),
        source=Source(DOCUMENT, "Steps 1 to 8"),
        inputs={"x": TOKENS, "w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE},
        attributes={"scale": 1.0},
        outputs=("output", "weights", "scores", "query", "key", "value"),
        dtypes=EVERY_DTYPE,
        printed=(
            Printed(of="x", section="Step 1, In [2]", data=[3, 4], quantity="shape"),
            Printed(of="w_query", section="Step 2, In [3]", data=[4, 3], quantity="shape"),
            Printed(of="w_key", section="Step 2, In [4]", data=[4, 3], quantity="shape"),
            Printed(of="w_value", section="Step 2, In [5]", data=[4, 3], quantity="shape"),
            Printed(of="query", section="Step 3, In [6]", data=PRINTED_QUERY),
            Printed(of="key", section="Step 3, In [7]", data=PRINTED_KEY),
            Printed(of="value", section="Step 3, In [8]", data=PRINTED_VALUE),
            Printed(of="scores", section=SECTION_SCORES, data=PRINTED_SCORES),
            Printed(of="scores", section=SECTION_SCORES, data=[3, 3], quantity="shape"),
            Printed(of="weights", section=SECTION_WEIGHTS, data=PRINTED_WEIGHTS),
            Printed(of="output", section=SECTION_SUM, data=PRINTED_FIRST_OUTPUT, index=(0,)),
        ),
        errata=("E001.scores_unscaled", "E001.token_by_token", "E001.weights_overwrite_scores"),
    )


def from_scores_case() -> AuthoredCase:
    """Hold steps 4 to 7, from the printed queries, keys and values."""
    return AuthoredCase(
        id="documents/001/attention_from_projections",
        title="The same head, starting from its queries, keys and values",
        operation="scaled_dot_product_attention",
        clauses=("sdpa.scores", "sdpa.scale.explicit", "sdpa.softmax.keys", "sdpa.weights", "sdpa.output"),
        source=Source(DOCUMENT, "Steps 4 to 7"),
        inputs={"query": QUERY[None, None], "key": KEY[None, None], "value": VALUE[None, None]},
        attributes={"scale": 1.0},
        outputs=("output", "weights", "scores"),
        dtypes=EVERY_DTYPE,
        printed=(
            Printed(of="scores", section=SECTION_SCORES, data=PRINTED_SCORES, index=(0, 0)),
            Printed(of="weights", section=SECTION_WEIGHTS, data=PRINTED_WEIGHTS, index=(0, 0)),
            Printed(of="output", section=SECTION_SUM, data=PRINTED_FIRST_OUTPUT, index=(0, 0, 0)),
        ),
        errata=("E001.scores_unscaled",),
    )


def weighted_values_case() -> AuthoredCase:
    """Hold the three summands of the first output, and their sum.

    Batch entry j keeps row j of the values; the last entry keeps all rows.
    """
    summands = [np.diag(kept) @ VALUE for kept in np.eye(3)]
    value = np.stack([*summands, VALUE])[:, None]
    entries = len(value)
    return AuthoredCase(
        id="documents/001/weighted_values_of_first_token",
        title="The three weighted values of the first token, and their sum",
        operation="scaled_dot_product_attention",
        clauses=("sdpa.weights", "sdpa.output", "sdpa.scale.explicit"),
        source=Source(DOCUMENT, "Steps 6 and 7"),
        inputs={
            "query": np.tile(QUERY[:1], (entries, 1, 1, 1)),
            "key": np.tile(KEY, (entries, 1, 1, 1)),
            "value": value,
        },
        attributes={"scale": 1.0},
        outputs=("output", "weights"),
        dtypes=EVERY_DTYPE,
        printed=(
            *(
                Printed(of="output", section=f"Step 6, In [14], Attention {entry + 1}", data=data, index=(entry, 0, 0))
                for entry, data in enumerate(PRINTED_WEIGHTED_VALUES)
            ),
            Printed(of="output", section=SECTION_SUM, data=PRINTED_FIRST_OUTPUT, index=(3, 0, 0)),
        ),
        errata=("E001.step_6_heading",),
    )


def softmax_of_scores_cases() -> tuple[AuthoredCase, ...]:
    """Hold the softmax that turns scores into weights, and the same shape with other numbers."""
    section = SECTION_WEIGHTS
    printed = (Printed(of="output", section=section, data=PRINTED_WEIGHTS),)
    return (
        AuthoredCase(
            id="documents/001/softmax_of_scores",
            title="Softmax of the 3x3 scores, row by row",
            operation="softmax",
            clauses=("softmax.definition", "softmax.axis.default"),
            source=Source(DOCUMENT, section),
            inputs={"x": SCORES},
            dtypes=EVERY_DTYPE,
            printed=printed,
        ),
        AuthoredCase(
            id="documents/001/softmax_of_queries",
            title="Softmax of the 3x3 queries, row by row: equal shapes, other values",
            operation="softmax",
            clauses=("softmax.definition", "softmax.axis.default"),
            source=Source(DOCUMENT, "Step 3, In [6], taken as scores"),
            inputs={"x": QUERY},
            dtypes=EVERY_DTYPE,
        ),
    )


def softmax_side_note_cases() -> tuple[AuthoredCase, ...]:
    """Hold the softmax side note: one 3x4 array, over everything, down its columns, along its rows."""
    whole = rows(
        "4.48308990e-06 2.71913148e-06 2.01438214e-06 3.31258028e-05",
        "4.48308990e-06 6.06720242e-07 1.80860755e-03 3.31258028e-05",
        "1.21863018e-05 2.68421160e-01 7.29644362e-01 3.31258028e-05",
    )
    columns = rows(
        "2.11941558e-01 1.01299681e-05 2.75393864e-06 3.33333333e-01",
        "2.11941558e-01 2.26030140e-06 2.47261635e-03 3.33333333e-01",
        "5.76116885e-01 9.99987610e-01 9.97524630e-01 3.33333333e-01",
    )
    along_rows = rows(
        "1.05877070e-01 6.42176889e-02 4.75736340e-02 7.82331607e-01",
        "2.42746030e-03 3.28521027e-04 9.79307378e-01 1.79366403e-02",
        "1.22093673e-05 2.68929212e-01 7.31025390e-01 3.31885014e-05",
    )
    variants = (
        ("softmax_of_whole_array", "over the entire array", None, "softmax.axis.whole", whole, "In [36]"),
        ("softmax_of_columns", "down each column", 0, "softmax.axis.explicit", columns, "In [39]"),
        ("softmax_of_rows", "along each row", 1, "softmax.axis.explicit", along_rows, "In [41]"),
    )
    return tuple(
        AuthoredCase(
            id=f"documents/001/{name}",
            title=f"Softmax of a 3x4 array {where}",
            operation="softmax",
            clauses=("softmax.definition", clause),
            source=Source(DOCUMENT, f"Softmax side note, {cell}"),
            inputs={"x": SOFTMAX_EXAMPLE},
            attributes={"axis": axis},
            # 0.2 has no exact binary form, which would dominate everything in half precision.
            dtypes=SINGLE_AND_DOUBLE,
            printed=(Printed(of="output", section=f"Softmax side note, {cell}", data=data),),
            errata=("E001.print_precision",),
        )
        for name, where, axis, clause, data, cell in variants
    )


def eight_heads_cases() -> tuple[AuthoredCase, ...]:
    """Put eight heads of (3,64) side by side; the document's own are unseeded and mostly not printed."""
    # Each element has a number of its own, below 2^11: any misplaced one shows, and float16 is exact.
    ascending = np.arange(8 * 3 * 64, dtype=np.float64).reshape(1, 8, 3, 64)
    return (
        AuthoredCase(
            id="documents/001/eight_heads_concatenated",
            title="Eight heads of (3,64) concatenated to (3,512)",
            operation="combine_heads",
            clauses=("combine_heads.order", "combine_heads.shape"),
            source=Source(DOCUMENT, "Steps 9 and 10, with stored numbers of the same shapes"),
            inputs={"x": ascending},
            dtypes=("float64", "float32", "float16"),
            printed=(
                Printed(of="x", section="Step 9, In [18]", data=[3, 64], quantity="shape", index=(0, 0)),
                Printed(
                    of="output",
                    section="Step 10, In [19]: dimension 8x64=512",
                    data=[512],
                    quantity="shape",
                    index=(0, 0),
                ),
            ),
            errata=("E001.unseeded_heads",),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return every case that document 001 supports."""
    return (
        single_head_case(),
        from_scores_case(),
        weighted_values_case(),
        *softmax_of_scores_cases(),
        *softmax_side_note_cases(),
        *eight_heads_cases(),
    )
