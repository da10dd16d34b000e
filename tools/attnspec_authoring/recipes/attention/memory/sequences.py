"""Memory layouts of keys, values and lengths of several sequences, whose tables, lists and pools lie likewise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, Sizes, attention

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

CLAUSES = ("sdpa.memory_layout", "sdpa.key_lengths.exclusion")
KEYS = {
    "fortran": "first axis first in memory",
    "heads_last": "tokens before heads in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "readonly": "where nobody may write",
    "prefix": "at the beginning of longer arrays",
}
LENGTHS = ("reversed", "gapped", "inside", "readonly")


def cases() -> tuple[AuthoredCase, ...]:
    """Return keys and values of sequences in every layout, and lengths in each that they can have."""
    sizes = (Sizes(3, 4, 2, 1, 14, 2), Sizes(4, 2, 2, 1, 9, 1), Sizes(2, 2, 2, 1, 29, 1))
    lengths = ([14, 5, 9], [2, 9, 0, 6], [17, 29])
    return (
        *(
            attention(f"memory/{layout}_sequences_of_{of.keys}", f"Keys and values of {of.batch} sequences lie {how}")(
                of, clauses=CLAUSES, presentation=dict.fromkeys(("key", "value"), layout), key_lengths=own
            )
            for layout, how in KEYS.items()
            for of, own in zip(sizes, lengths, strict=True)
            if layout in ("fortran", "inside") or of.keys == 14
        ),
        *(
            attention(
                f"memory/{layout}_lengths_of_sequences",
                f"Lengths of queries and keys of three sequences lie {KEYS[layout]}",
            )(
                Sizes(3, 2, 1, 2, 13, 1),
                clauses=CLAUSES,
                presentation=dict.fromkeys(("key_lengths", "query_lengths"), layout),
                key_lengths=[13, 4, 7],
                query_lengths=[1, 2, 1],
                is_causal=True,
                causal_alignment=BOTTOM_RIGHT,
            )
            for layout in LENGTHS
        ),
    )
