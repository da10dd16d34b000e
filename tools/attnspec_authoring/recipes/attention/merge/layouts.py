"""Memory layouts of outputs and logarithms, and parts that are one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.merge.parts import NAMES, NONE, merging
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

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
SHAPE = (1, 2, 3, 2)
BATCH = (2, 1, 3, 2)
STRIDES = "pytorch/pytorch/issues/133671"


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of layouts."""
    case = table(merging, shape=SHAPE)
    outputs, logarithms = grid("merge/one_part", SHAPE), grid("merge/one_logarithm", BATCH[:3])
    some_empty = grid("merge/some_empty", SHAPE[:3])
    some_empty[0, 1, 0] = some_empty[0, 0, 2] = NONE
    return (
        *(
            case(f"{layout}_{which}", f"{which} that lie {how}")(
                presentation=dict.fromkeys(names, layout), report=STRIDES if layout == "heads_last" else None
            )
            for layout, how in LAYOUTS.items()
            for which, names in PARTS.items()
            # Logarithms have no features that could lie behind their heads.
            if not layout.startswith("heads_last") or which == "outputs"
        ),
        *(
            case(f"{layout}_everything", f"outputs and logarithms that lie {LAYOUTS[layout]}")(
                presentation=dict.fromkeys(NAMES, layout)
            )
            for layout in ("fortran", "reversed")
        ),
        merging("heads_last_gapped_second_output", "the second output alone lies with gaps between tokens")(
            BATCH, presentation={"output_b": "heads_last_gapped"}
        ),
        merging("one_entry_of_outputs", "one batch entry of the first output in memory stands for all")(
            BATCH, output_a=grid("merge/one_entry", (1, *BATCH[1:])), presentation={"output_a": "broadcast"}
        ),
        case("one_head_of_outputs", "one head of the second output in memory stands for all")(
            output_b=outputs[:, :1], presentation={"output_b": "heads_broadcast"}
        ),
        merging("one_entry_of_logarithms", "one batch entry of the logarithms in memory stands for all")(
            BATCH,
            logsumexp_a=logarithms[:1],
            logsumexp_b=logarithms[1:],
            presentation={"logsumexp_a": "broadcast", "logsumexp_b": "broadcast"},
        ),
        *(
            case(f"fused_{name}", f"both {name} are sections of one array")(presentation=dict.fromkeys(inputs, "fused"))
            for name, inputs in PARTS.items()
        ),
        case("one_array_as_both_outputs", "one array is given as both outputs")(
            output_a=outputs, output_b=outputs, presentation={"output_a": "shared", "output_b": "shared"}
        ),
        merging("one_array_as_both_logarithms", "one array is given as both logarithms, no keys in places")(
            SHAPE,
            ("average", "empty.both"),
            logsumexp_a=some_empty,
            logsumexp_b=some_empty,
            presentation={"logsumexp_a": "shared", "logsumexp_b": "shared"},
        ),
        case("one_array_as_both_numbers", "one array is given as both logarithms, every part with keys")(
            logsumexp_a=grid("merge/one_row_of_logarithms", SHAPE[:3]),
            logsumexp_b=grid("merge/one_row_of_logarithms", SHAPE[:3]),
            presentation={"logsumexp_a": "shared", "logsumexp_b": "shared"},
        ),
    )
