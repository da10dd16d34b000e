"""Memory layouts of every input that is not query, key, value or mask of attention, and of a few features together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask, float_mask, floats, profile
from attnspec_authoring.recipes.attention.layout.heads import counted
from attnspec_authoring.recipes.attention.layout.heads import layout as of_heads
from attnspec_authoring.recipes.attention.layout.projections import BIASES, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, context, softmax
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attnspec_authoring.recipes.authoring import AuthoredCase

memory = profile("memory")

MEMORY = "memory"
LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "prefix": "at the beginning of longer arrays",
}
OF_HEADS = {
    "heads_last": "behind the tokens in memory",
    "heads_last_gapped": "side by side for each token, with gaps between tokens",
}
"""Layouts that only arrays with an axis of heads can have."""
ONE_AXIS = tuple(layout for layout in LAYOUTS if layout not in ("fortran", "prefix"))
"""Layouts that an array of one axis can have."""
WEIGHTS = ("w_query", "w_key", "w_value", "w_output")


def every(names: Iterable[str], layout: str) -> dict[str, str]:
    """Return the memory order of all inputs in one layout."""
    return dict.fromkeys(names, layout)


def one_head_for_all(case_id: str, tensor: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Draw a tensor whose heads are equal."""
    return {tensor: np.broadcast_to(grid(f"{case_id}/one_head", (shape[0], 1, *shape[2:])), shape).copy()}


def attention_cases() -> tuple[AuthoredCase, ...]:
    """Hold pasts, sinks, slopes and lengths in every layout, the others inside larger arrays, and equal heads."""
    sizes = Sizes(3, 2, 2, 4, 5)
    past = Sizes(1, 2, 2, 4, 5, past=3)
    grouped = Sizes(1, 6, 2, 4, 5)
    clauses = ("sdpa.memory_layout",)
    named: dict[str, dict[str, Any]] = {
        "sinks": {"sinks": [0.5, -1.0]},
        "slopes": {"alibi_slopes": [0.25, 1.5], "causal_alignment": "top_left"},
    }
    lengths = ("key_lengths", "query_lengths")
    return (
        *(
            memory(f"{layout}_past_{tensor}", f"The past {tensor} lies {how}")(
                past, clauses=clauses, also="present_key present_value", memory_order={f"past_{tensor}": layout}
            )
            for layout, how in LAYOUTS.items()
            for tensor in ("key", "value")
        ),
        *(
            memory(f"{layout}_{name}", f"The {name} lie {LAYOUTS[layout]}")(
                Sizes(1, 2, 1, 4, 5),
                clauses=clauses,
                memory_order={tensor: layout for tensor in inputs if tensor != "causal_alignment"},
                **inputs,
            )
            for layout in ONE_AXIS
            for name, inputs in named.items()
        ),
        *(
            memory(f"{layout}_{name}", f"The {name.replace('_', ' ')} lie {LAYOUTS[layout]}")(
                Sizes(3, 1, 1, 4, 5),
                clauses=clauses,
                memory_order={name: layout},
                key_lengths=[5, 2, 4],
                query_lengths=[1, 4, 3],
                is_causal=True,
                causal_alignment="bottom_right",
            )
            for layout in ONE_AXIS
            for name in lengths
        ),
        *(
            memory(f"inside_{tensor}", f"The {tensor} lies inside of a larger array")(
                sizes, clauses=clauses, memory_order={tensor: "inside"}
            )
            for tensor in ("query", "key", "value")
        ),
        memory("inside_mask", "The mask lies inside of a larger array")(
            sizes, clauses=clauses, memory_order={"mask": "inside"}, mask=floats(*sizes.mask)
        ),
        *(
            memory(f"one_head_of_{tensor}", f"The {tensor} is one head in memory that stands for several")(
                sizes if tensor == "query" else grouped,
                clauses=clauses,
                memory_order={tensor: "heads_broadcast"},
                **one_head_for_all(f"memory/one_head_of_{tensor}", tensor, shape),
            )
            for tensor, shape in (("query", (3, 2, 4, 3)), ("key", (1, 2, 5, 3)), ("value", (1, 2, 5, 3)))
        ),
        memory("one_head_of_past", "Past keys and values are one head each in memory that stands for several")(
            past,
            clauses=clauses,
            memory_order=every(("past_key", "past_value"), "heads_broadcast"),
            **one_head_for_all("memory/one_head_of_past_key", "past_key", (1, 2, 3, 3)),
            **one_head_for_all("memory/one_head_of_past_value", "past_value", (1, 2, 3, 3)),
        ),
        memory("one_row_of_mask", "A Boolean mask of four rows that are one row in memory")(
            Sizes(1, 2, 2, 4, 5),
            clauses=clauses,
            memory_order={"mask": "broadcast"},
            mask=np.broadcast_to(boolean_mask("memory/one_row_of_mask", (1, 5)), (4, 5)).copy(),
        ),
    )


def multi_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold tokens, weight matrices, biases and masks of multi-head attention in every layout."""
    case = table(multi_head, lengths=(2, 3, 5), profile=MEMORY, width=4, num_heads=2)
    tokens = ("query", "key", "value")
    mask = float_mask("memory/multi_head_mask", (2, 2, 3, 5))
    return (
        *(
            case(f"{layout}_{part}", f"{what} lie {how}")(memory_order=every(names, layout))
            for layout, how in LAYOUTS.items()
            for part, what, names in (("tokens", "the tokens", tokens), ("weights", "the weight matrices", WEIGHTS))
        ),
        *(
            case(f"{layout}_biases", f"the biases lie {LAYOUTS[layout]}")(
                biases=BIASES, memory_order=every(BIASES, layout)
            )
            for layout in ONE_AXIS
        ),
        *(
            case(f"{layout}_mask", f"a float mask lies {how}")(mask=mask, memory_order={"mask": layout})
            for layout, how in LAYOUTS.items()
        ),
    )


def moving_cases() -> tuple[AuthoredCase, ...]:
    """Hold softmax and the cutting and joining of heads in every layout."""
    case = table(of_heads, profile=MEMORY)
    tokens, heads = (2, 3, 8), (2, 4, 3, 2)
    equal = np.broadcast_to(counted(tokens[1:], 0), tokens).copy()
    equal_heads = np.broadcast_to(counted((2, 1, 3, 2), 0), heads).copy()
    return (
        *(
            case(f"{layout}", f"tokens that lie {how}")(tokens, num_heads=4, memory_order=layout)
            for layout, how in LAYOUTS.items()
        ),
        case("prefix_three_entries", "tokens of three batch entries at the beginning of longer arrays")(
            (3, 2, 6), num_heads=3, memory_order="prefix"
        ),
        case("broadcast", "tokens of one batch entry that stands for all")(
            tokens, num_heads=4, x=equal, memory_order="broadcast"
        ),
        *(
            case(f"{layout}", f"heads that lie {how}, joined")(heads, memory_order=layout)
            for layout, how in (LAYOUTS | OF_HEADS).items()
        ),
        *(
            case(f"{layout}_{name}", f"heads of {what} that lie {how}, joined")(shape, memory_order=layout)
            for layout, how in (LAYOUTS | OF_HEADS).items()
            for name, what, shape in (
                ("one_token", "one token", (2, 4, 1, 3)),
                ("one_feature", "one feature", (2, 3, 4, 1)),
                ("one_entry", "one entry", (1, 3, 4, 2)),
            )
        ),
        *(
            case(f"{layout}_{name}", f"tokens of {what} that lie {how}")(shape, num_heads=3, memory_order=layout)
            for layout, how in LAYOUTS.items()
            for name, what, shape in (
                ("one_token", "two entries, one each", (2, 1, 6)),
                ("one_entry", "one entry", (1, 4, 6)),
            )
        ),
        case("one_head", "heads that are one head in memory, joined")(
            heads, x=equal_heads, memory_order="heads_broadcast"
        ),
        *(
            softmax(f"{layout}_rows", f"rows that lie {how}")((4, 6), profile=MEMORY, memory_order=layout)
            for layout, how in LAYOUTS.items()
            if layout in ONE_AXIS[1:]
        ),
        *(
            softmax(f"{layout}_columns", f"columns that lie {how}")(
                (4, 6), clauses=AXIS, profile=MEMORY, memory_order=layout, axis=0
            )
            for layout, how in LAYOUTS.items()
        ),
        *(
            softmax(f"{layout}_table_{name}", f"a table that lies {LAYOUTS[layout]}, along the axis {axis}")(
                (4, 6), clauses=AXIS, profile=MEMORY, memory_order=layout, axis=axis
            )
            for layout in ("fortran", "reversed")
            for name, axis in (("1", 1), ("minus_2", -2), ("minus_1", -1))
        ),
        *(
            softmax(f"{layout}_cube_{name}", f"a cube that lies {LAYOUTS[layout]}, along the axis {axis}")(
                (2, 3, 4), clauses=AXIS, profile=MEMORY, memory_order=layout, axis=axis
            )
            for layout in ("fortran", "reversed")
            for name, axis in (("1", 1), ("2", 2), ("minus_2", -2), ("minus_3", -3))
        ),
        *(
            softmax(f"{layout}_whole", f"a whole array that lies {how}")(
                (2, 3, 4), clauses=("softmax.axis.whole",), profile=MEMORY, memory_order=layout, axis=None
            )
            for layout, how in LAYOUTS.items()
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the layouts of the inputs that no other module lays out."""
    return (
        *attention_cases(),
        *multi_head_cases(),
        # Hold tokens and weight matrices of single-head attention in every layout.
        *(
            single_head(f"{layout}_{part}", f"{what} {how}")(
                4, (5, 3, 2, 6), profile=MEMORY, memory_order=every(names, layout)
            )
            for layout, how in LAYOUTS.items()
            for part, what, names in (
                ("tokens", "the tokens lie", ("x",)),
                ("weights", "the weight matrices lie", WEIGHTS),
            )
        ),
        # Hold encoder and decoder states in every layout.
        *(
            context(f"{layout}_encoder_states", f"the encoder states lie {how}")(
                6, 3, profile=MEMORY, memory_order={"encoder_states": layout}
            )
            for layout, how in LAYOUTS.items()
        ),
        *(
            context(f"{layout}_decoder_state", f"the decoder state lies {LAYOUTS[layout]}")(
                6, 3, profile=MEMORY, memory_order={"decoder_state": layout}
            )
            for layout in ONE_AXIS
        ),
        *moving_cases(),
    )
