"""Laws that relate cases: parts exchanged, three parts in either order; and shapes and memory layouts of every kind.

The golden values of these cases keep the laws by construction, which
`tests/unit/attnspec/families/attention/test_merged_states.py` checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import NAMES, NONE, drawn, merging
from attnspec_authoring.recipes.authoring import WITHOUT_FLOAT16, table
from attnspec_authoring.recipes.generator import grid
from attnspec_oracle import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

SHAPE = (2, 2, 3, 2)
GROUPED = "ml-explore/mlx/issues/3573"

Part = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def exchanged(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the second part as the first, and the first as the second."""
    sides = {"a": "b", "b": "a"}
    return {f"{name[:-1]}{sides[name[-1]]}": array for name, array in inputs.items()}


def commutative() -> tuple[AuthoredCase, ...]:
    """Hold parts of unlike weight, one of them empty here and there, in both orders."""
    there = drawn("commutative", SHAPE)
    there["logsumexp_a"][0, 1] = [NONE, 40.0, -7.0]
    there["logsumexp_b"][1, 0] = [2.0, NONE, 88.0]
    return (
        merging("commutative_there", "two parts")(SHAPE, ("average", "commutative"), **there),
        merging("commutative_back", "the same two parts, exchanged")(
            SHAPE, ("average", "commutative"), **exchanged(there)
        ),
    )


def parts() -> tuple[Part, Part, Part]:
    """Draw three parts, of which some rows have no keys in one of them, or in none."""
    first, second = drawn("associative", SHAPE), drawn("associative_more", SHAPE)
    three: tuple[Part, Part, Part] = (
        (first["output_a"], first["logsumexp_a"] + 3.0),
        (first["output_b"], first["logsumexp_b"]),
        (second["output_a"], second["logsumexp_a"] + 1.0),
    )
    for part, (_, logsumexp) in enumerate(three):
        logsumexp[0, 0, part] = NONE
        logsumexp[1, 1, 1] = NONE
    return three


def of(first: Part, second: Part) -> dict[str, Any]:
    """Name the tensors of two parts."""
    return {"output_a": first[0], "logsumexp_a": first[1], "output_b": second[0], "logsumexp_b": second[1]}


def merged(first: Part, second: Part) -> Part:
    """Merge two parts exactly, rounded once."""
    outputs = evaluate("merge_states", of(first, second), {})
    return outputs["output"], outputs["logsumexp"]


def associative() -> tuple[AuthoredCase, ...]:
    """Hold three parts, the first two merged before, and the last two merged before.

    What was merged before has numbers of all digits, so it is offered in float64 alone.
    """
    first, second, third = parts()
    clauses, dtypes = ("average", "associative", "empty.one", "empty.both"), ("float64",)
    return (
        merging("associative_first_two", "the first two of three parts, merged before, and the third")(
            SHAPE, clauses, **of(merged(first, second), third), dtypes=dtypes, report=GROUPED
        ),
        merging("associative_last_two", "the first of three parts, and the last two, merged before")(
            SHAPE, clauses, **of(first, merged(second, third)), dtypes=dtypes
        ),
        merging("associative_outer_two", "the second of three parts, and the two others, merged before")(
            SHAPE, clauses, **of(second, merged(first, third)), dtypes=dtypes
        ),
    )


WRONG_LAYOUT = "vllm-project/flash-attention/pull/87"
PADDED = "feifeibear/long-context-attention/issues/122"


def sizes_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of shapes."""
    ladder = np.arange(129.0).reshape(1, 1, 129)
    return (
        merging("plain", "drawn numbers")((1, 2, 3, 4), ("average", "weights")),
        merging("outputs_tiny_beyond_float16", "outputs too small for float16")(
            (1, 2, 3, 2),
            dtypes=WITHOUT_FLOAT16,
            output_a=(np.arange(12.0).reshape(1, 2, 3, 2) + 3.0) * 2.0**-30,
            output_b=(np.arange(12.0).reshape(1, 2, 3, 2) - 5.0) * 2.0**-30,
        ),
        *(
            merging(
                f"outputs_of_which_two_exceed_float16_{name}",
                f"outputs of which two exceed float16 once they are added, {what}",
            )(
                (1, 2, 3, 2),
                output_a=(np.arange(12.0).reshape(1, 2, 3, 2) * 512.0 + 40960.0) * sign,
                output_b=(55296.0 - np.arange(12.0).reshape(1, 2, 3, 2) * 256.0) * sign,
                logsumexp_a=np.array([0.0, 0.5, 8.0, -0.25, 0.0, 1.0]).reshape(1, 2, 3),
                logsumexp_b=np.array([0.0, 0.25, 8.0, 0.0, -0.5, 1.0]).reshape(1, 2, 3),
            )
            for name, what, sign in (("above", "above zero", 1.0), ("below", "below zero", -1.0))
        ),
        merging("plain_other_numbers", "other numbers in the same shapes")((1, 2, 3, 4)),
        merging("batch", "two batch entries, three heads, four queries")((2, 3, 4, 2)),
        merging("one_query", "one query, as in decoding")((2, 3, 1, 4)),
        merging("width_33", "thirty-three features")((1, 1, 1, 33)),
        merging("width_64", "sixty-four features")((1, 1, 1, 64)),
        merging("width_80", "eighty features")((1, 1, 1, 80)),
        merging("width_128", "a hundred and twenty-eight features")((1, 1, 1, 128)),
        merging("width_133", "a hundred and thirty-three features")((1, 1, 1, 133)),
        merging("heads_9", "nine heads")((1, 9, 1, 2), report=WRONG_LAYOUT),
        merging("heads_33", "thirty-three heads")((1, 33, 1, 1)),
        merging("queries_17", "seventeen queries")((1, 1, 17, 1), report=PADDED),
        merging("queries_129", "a hundred and twenty-nine queries, whose parts are ever less alike")(
            (1, 1, 129, 1), ("average", "weights"), logsumexp_a=ladder / 16.0 - 4.0, logsumexp_b=0.5
        ),
        merging("as_many_heads_as_entries", "as many heads as batch entries")((3, 3, 2, 1)),
        merging("as_many_heads_as_queries", "as many heads as queries")((1, 3, 3, 2)),
        merging("as_many_queries_as_features", "as many queries as features")((1, 2, 4, 4)),
        merging("all_alike", "as many of everything")((2, 2, 2, 2)),
        merging("no_entries", "no batch entries")((0, 2, 3, 4)),
        merging("no_heads", "no heads")((2, 0, 3, 4)),
        merging("no_queries", "no queries")((2, 3, 0, 4)),
        merging("no_features", "no features")((1, 2, 3, 0)),
    )


LAYOUTS = {
    "fortran": "with their first axis first in memory",
    "heads_last": "with tokens before heads in memory",
    "heads_last_gapped": "with the heads of a token side by side in memory and gaps between tokens",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "readonly": "where nobody may write",
    "prefix": "at the beginning of longer arrays",
}
PARTS = {"outputs": ("output_a", "output_b"), "logarithms": ("logsumexp_a", "logsumexp_b")}
SHAPE_OF_LAYOUTS = (1, 2, 3, 2)
BATCH = (2, 1, 3, 2)
STRIDES = "pytorch/pytorch/issues/133671"


def layouts_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of layouts."""
    case = table(merging, shape=SHAPE_OF_LAYOUTS)
    outputs, logarithms = grid("merge/one_part", SHAPE_OF_LAYOUTS), grid("merge/one_logarithm", BATCH[:3])
    some_empty = grid("merge/some_empty", SHAPE_OF_LAYOUTS[:3])
    some_empty[0, 1, 0] = some_empty[0, 0, 2] = NONE
    return (
        *(
            case(f"{layout}_{which}", f"{which} that lie {how}")(
                memory_order=dict.fromkeys(names, layout), report=STRIDES if layout == "heads_last" else None
            )
            for layout, how in LAYOUTS.items()
            for which, names in PARTS.items()
            # Logarithms have no features that could lie behind their heads.
            if not layout.startswith("heads_last") or which == "outputs"
        ),
        *(
            case(f"{layout}_everything", f"outputs and logarithms that lie {LAYOUTS[layout]}")(
                memory_order=dict.fromkeys(NAMES, layout)
            )
            for layout in ("fortran", "reversed")
        ),
        merging("heads_last_gapped_second_output", "the second output alone lies with gaps between tokens")(
            BATCH, memory_order={"output_b": "heads_last_gapped"}
        ),
        merging("one_entry_of_outputs", "one batch entry of the first output in memory stands for all")(
            BATCH, output_a=grid("merge/one_entry", (1, *BATCH[1:])), memory_order={"output_a": "broadcast"}
        ),
        case("one_head_of_outputs", "one head of the second output in memory stands for all")(
            output_b=outputs[:, :1], memory_order={"output_b": "heads_broadcast"}
        ),
        merging("one_entry_of_logarithms", "one batch entry of the logarithms in memory stands for all")(
            BATCH,
            logsumexp_a=logarithms[:1],
            logsumexp_b=logarithms[1:],
            memory_order={"logsumexp_a": "broadcast", "logsumexp_b": "broadcast"},
        ),
        *(
            case(f"fused_{name}", f"both {name} are sections of one array")(memory_order=dict.fromkeys(inputs, "fused"))
            for name, inputs in PARTS.items()
        ),
        case("one_array_as_both_outputs", "one array is given as both outputs")(
            output_a=outputs, output_b=outputs, memory_order={"output_a": "shared", "output_b": "shared"}
        ),
        merging("one_array_as_both_logarithms", "one array is given as both logarithms, no keys in places")(
            SHAPE_OF_LAYOUTS,
            ("average", "empty.both"),
            logsumexp_a=some_empty,
            logsumexp_b=some_empty,
            memory_order={"logsumexp_a": "shared", "logsumexp_b": "shared"},
        ),
        case("one_array_as_both_numbers", "one array is given as both logarithms, every part with keys")(
            logsumexp_a=grid("merge/one_row_of_logarithms", SHAPE_OF_LAYOUTS[:3]),
            logsumexp_b=grid("merge/one_row_of_logarithms", SHAPE_OF_LAYOUTS[:3]),
            memory_order={"logsumexp_a": "shared", "logsumexp_b": "shared"},
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*commutative(), *associative(), *sizes_cases(), *layouts_cases())
