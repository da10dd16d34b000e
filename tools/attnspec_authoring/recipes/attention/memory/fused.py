"""Inputs that are sections of one array, as one projection to query, key and value gives them.

Code that takes inputs with memory in common for one tensor, or a section for the whole, goes wrong here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import Sizes, attention, float_mask
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.attention.memory.one_array import BIASES, MEMORY, WEIGHTS, joined, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec_authoring.recipes.authoring import AuthoredCase

_TOKENS = ("query", "key", "value")


def _fused(names: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(names, "fused")


def attention_cases() -> tuple[AuthoredCase, ...]:
    """Fuse tokens of equal and of other widths, grouped heads, a past, and what there is for each head."""
    square, wider, grouped = Sizes(1, 2, 2, 5, 5), Sizes(2, 1, 1, 5, 5, 3, 4), Sizes(1, 6, 2, 4, 5)
    after_past = Sizes(1, 2, 2, 3, 4, past=5)
    of_past = ("past_key", "past_value")
    return (
        *(
            attention(f"memory/fused_{joined(names)}", f"{listed(names).capitalize()} are sections of one array")(
                square, clauses=("sdpa.memory_layout",), presentation=_fused(names)
            )
            for names in (_TOKENS, _TOKENS[:2], _TOKENS[1:], _TOKENS[::2])
        ),
        attention(
            "memory/fused_wider_values", "Query, key and wider values are sections of one array, under causality"
        )(wider, clauses=("sdpa.memory_layout",), is_causal=True, presentation=_fused(_TOKENS)),
        attention("memory/fused_grouped", "Keys and values of grouped heads are sections of one array, under a mask")(
            grouped,
            clauses=("sdpa.memory_layout", "sdpa.heads.grouped"),
            mask=float_mask("memory/fused_grouped", grouped.mask),
            presentation=_fused(_TOKENS[1:]),
        ),
        attention("memory/fused_past", "Past keys and values are sections of one array, and so are new ones")(
            after_past,
            clauses=("sdpa.memory_layout",),
            outputs=("output", "present_key", "present_value"),
            presentation=_fused((*_TOKENS[1:], *of_past)),
        ),
        attention("memory/fused_for_each_head", "Sinks and slopes are sections of one array")(
            Sizes(1, 2, 1, 4, 4),
            clauses=("sdpa.memory_layout",),
            sinks=[0.5, -1.0],
            alibi_slopes=[0.5, 0.25],
            presentation=_fused(("sinks", "alibi_slopes")),
        ),
    )


def projecting_cases() -> tuple[AuthoredCase, ...]:
    """Fuse tokens, weight matrices and biases of layers."""
    lengths, several = (2, 4, 4), "are sections of one array"
    return (
        *(
            multi_head(f"fused_{joined(names)}", f"{listed(names)} {several}")(
                lengths, profile=MEMORY, biases=BIASES, presentation=_fused(names)
            )
            for names in (_TOKENS, _TOKENS[1:], WEIGHTS[:3], WEIGHTS, BIASES)
        ),
        *(
            single_head(f"fused_{joined(names)}", f"{listed(names)} {several}")(
                4, (4, 3, 2, None), profile=MEMORY, presentation=_fused(names)
            )
            for names in (WEIGHTS[:3], WEIGHTS[1:3], ("x", "w_query"))
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of inputs that are sections of one array."""
    return (*attention_cases(), *projecting_cases())
