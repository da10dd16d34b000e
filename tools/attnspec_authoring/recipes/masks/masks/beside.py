"""Rules beside each other, inputs in other memory layouts, and arguments that are changed alone in a second call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

PADDING_GIVEN = "huggingface/transformers/pull/46634"
APART = [[0, 1, 0, 0, 1, 1]]


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of several rules, memory layouts and second calls."""
    yield from together()
    yield from in_memory()
    yield from called_again()


def together() -> Iterator[AuthoredCase]:
    """Return rules of which all must hold."""
    all_of = "conjunction"
    yield mask("all_window_chunk", "a window and chunks")(8, f"{all_of} window chunk", window=[1, 1], chunk=3)
    yield mask("all_window_chunk_causal", "a window and chunks, looking back")(
        8, f"{all_of} window chunk", window=[2, 0], chunk=4, **CAUSAL
    )
    yield mask("all_window_documents", "a window inside of documents")(
        6, f"{all_of} window documents", window=[2, 1], documents=APART
    )
    yield mask("all_documents_lengths", "documents of batch entries, of which fewer keys count")(
        6,
        f"{all_of} documents lengths batch",
        documents=[[0, 0, 1, 1, 1, 2], [3, 3, 3, 4, 4, 4]],
        key_lengths=[6, 5],
        report=PADDING_GIVEN,
        **CAUSAL,
    )
    yield mask("all_documents_padding", "documents behind padding")(
        5, f"{all_of} documents left_padding", documents=[[0, 0, 0, 1, 1]], left_padding=[1], report=PADDING_GIVEN
    )
    yield mask("all_chunk_documents", "chunks counted through documents")(
        6, f"{all_of} chunk documents", chunk=4, documents=[[0, 0, 0, 1, 1, 1]], **CAUSAL
    )
    yield mask("all_prefix_documents", "a prefix is seen inside of its document alone")(
        6, f"{all_of} prefix_alone documents", prefix_lengths=[3], documents=[[0, 0, 1, 1, 1, 0]], **CAUSAL
    )
    yield mask("all_prefix_tree", "a prefix beside a draft tree")(
        (3, 5), f"{all_of} prefix_alone tree", prefix_lengths=[5], parents=[[-1, 0, 0]], **FROM_THE_END
    )
    yield mask("all_tree_window", "a draft tree inside of a window")(
        (4, 7), f"{all_of} tree window", parents=[[-1, 0, 0, 1]], window=[3, None], **BOTTOM_RIGHT
    )
    yield mask("all_tree_documents", "drafts of two documents in one row")(
        (3, 6),
        f"{all_of} tree documents",
        parents=[[-1, 0, -1]],
        query_documents=[[0, 0, 1]],
        key_documents=[[0, 0, 1, 0, 0, 1]],
        **BOTTOM_RIGHT,
    )
    yield mask("all_blocks_window", "blocks and a window")(
        (6, 6),
        f"{all_of} blocks window",
        attended_blocks=[[True, False, True], [True, True, False], [False, True, True]],
        attended_block_size=[2, 2],
        window=[2, 2],
    )
    yield mask("all_blocks_prefix", "blocks cut a prefix")(
        6,
        f"{all_of} blocks prefix_alone",
        attended_blocks=[[True, False], [True, True]],
        attended_block_size=[3, 3],
        prefix_lengths=[5],
        **CAUSAL,
    )
    yield mask("all_blocks_documents", "blocks of heads and documents of batch entries")(
        4,
        f"{all_of} blocks documents batch",
        attended_blocks=[[[True, False], [True, True]], [[True, True], [False, True]]],
        attended_block_size=[2, 2],
        documents=[[0, 0, 0, 1], [2, 1, 1, 1]],
        **CAUSAL,
    )
    yield mask("all_starts_window_chunk", "a window and chunks in each document")(
        8, f"{all_of} starts starts_position", starts=[0, 3, 8], window=[1, 0], chunk=2, **CAUSAL
    )
    yield mask("all_padding_lengths_window", "padding before, lengths behind, and a window")(
        7, f"{all_of} left_padding lengths window", left_padding=[2, 0], key_lengths=[6, 4], window=[2, None], **CAUSAL
    )
    yield mask("all_of_them", "window, chunk, prefix, documents, blocks and lengths")(
        8,
        f"{all_of} batch",
        window=[5, 3],
        chunk=6,
        prefix_lengths=[4, 2],
        documents=[[0, 0, 1, 0, 0, 1, 0, 0]],
        key_lengths=[8, 7],
        attended_blocks=[[True, True], [True, True], [False, True], [True, True]],
        attended_block_size=[2, 4],
        block_size=[4, 2],
        **CAUSAL,
    )


def in_memory() -> Iterator[AuthoredCase]:
    """Return inputs that do not lie row after row in memory."""
    layout: dict[str, Any] = {
        "documents": ("documents", {"documents": [[0, 0, 1, 1], [0, 1, 1, 2]]}),
        "parents": ("tree", {"parents": [[-1, 0, 0, 1], [-1, 0, 1, 0]]}),
        "lengths": ("lengths", {"key_lengths": [4, 1, 3]}),
        "blocks": (
            "blocks",
            {
                "attended_blocks": [[[True, False], [False, True]], [[True, True], [False, False]]],
                "attended_block_size": [2, 2],
            },
        ),
    }
    orders = {"reversed": "backwards in memory", "gapped": "with gaps in memory", "readonly": "where nobody may write"}
    names = {"documents": "key_documents", "parents": "parents", "lengths": "key_lengths", "blocks": "attended_blocks"}
    for rule, (clause, stated) in layout.items():
        for order, words in orders.items():
            yield mask(f"memory_{rule}_{order}", f"{names[rule]} {words}")(
                4, clause, memory_order={names[rule]: order}, **stated
            )
    for rule in ("documents", "parents", "blocks"):
        clause, stated = layout[rule]
        yield mask(f"memory_{rule}_fortran", f"{names[rule]} with the first axis first in memory")(
            4, clause, memory_order={names[rule]: "fortran"}, **stated
        )


def called_again() -> Iterator[AuthoredCase]:
    """Return arguments that are changed alone in a second call."""
    changes: dict[str, tuple[str, dict[str, Any], object]] = {
        "key_lengths": ("lengths", {"key_lengths": [4, 1]}, None),
        "left_padding": ("left_padding", {"left_padding": [0, 2]}, None),
        "prefix_lengths": ("prefix", {"prefix_lengths": [3, 0], **CAUSAL}, None),
        "key_documents": ("documents", {"documents": [[0, 0, 1, 1], [0, 1, 1, 1]]}, None),
        "parents": ("tree", {"parents": [[-1, -1, 0, 2], [-1, -1, 3, 1]]}, None),
        "attended_blocks": (
            "blocks",
            {"attended_blocks": [[True, False], [False, False]], "attended_block_size": [2, 2]},
            None,
        ),
        "window": ("window", {"window": [1, 0]}, [0, 2]),
        "chunk": ("chunk", {"chunk": 2}, 3),
        "offset": ("offset", {"offset": 1, **CAUSAL}, -1),
        "is_causal": ("causal", {"is_causal": True}, False),
    }
    for name, (clause, stated, other) in changes.items():
        changed = ChangedArgument(name, reversed=True) if other is None else ChangedArgument(name, other)
        yield mask(f"again_{name}", f"{name} is changed alone in a second call")(
            4, clause, changed_argument=changed, **stated
        )
