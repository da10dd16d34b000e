"""Masks of draft trees: chains, siblings, several roots, pasts of other lengths, and orders of the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.masks.masks.making import BOTTOM_RIGHT, CAUSAL, FROM_THE_END, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

IGNORED = "sgl-project/sglang/issues/20278"
LOWER_TRIANGLE = "PaddlePaddle/FastDeploy/pull/3514"


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of draft trees."""
    tree, past = "tree", "tree tree_past alignment"
    yield mask("tree_chain", "a chain is causality")(4, tree, parents=[[-1, 0, 1, 2]])
    yield mask("tree_siblings", "two children that do not see each other")(
        3, tree, parents=[[-1, 0, 0]], report=IGNORED
    )
    yield mask("tree_two_branches", "two branches, each two long")(
        5, tree, parents=[[-1, 0, 0, 1, 2]], report=LOWER_TRIANGLE
    )
    yield mask("tree_deep", "a chain with a late sibling")(6, tree, parents=[[-1, 0, 1, 2, 1, 4]])
    yield mask("tree_chain_long", "a chain of seven")(7, tree, parents=[range(-1, 6)])
    yield mask("tree_chain_backwards", "a chain of twelve from its end, behind a past")(
        (12, 13), "tree tree_order tree_past", parents=[[*range(1, 12), -1]], **BOTTOM_RIGHT
    )
    yield mask("tree_chain_longest", "a chain of eighteen, with siblings on the way")(
        20, tree, parents=[[*range(-1, 17), 8, 16]]
    )
    yield mask("tree_roots", "three roots that see themselves alone")(3, tree, parents=[[-1, -1, -1]])
    yield mask("tree_two_roots", "two roots with a child each")(4, tree, parents=[[-1, -1, 1, 0]])
    yield mask("tree_one", "one draft token")((1, 4), past, parents=[[-1]], **BOTTOM_RIGHT)
    yield mask("tree_past", "four drafts behind a past of two")(
        (4, 6), past, parents=[[-1, 0, 0, 1]], report=IGNORED, **BOTTOM_RIGHT
    )
    yield mask("tree_past_long", "five drafts behind a past of five")(
        (5, 10), past, parents=[[-1, 0, 0, 2, 2]], **BOTTOM_RIGHT
    )
    yield mask("tree_offset", "the past as an offset, keys behind the last draft")(
        (3, 7), "tree tree_past offset", parents=[[-1, 0, 0]], offset=2
    )
    yield mask("tree_top_left", "drafts that stand at the first keys")((3, 5), "tree tree_past", parents=[[-1, 0, 1]])
    yield mask("tree_negative", "drafts of which the first stand before the first key")(
        (4, 3), "tree tree_past offset", parents=[[-1, 0, 1, 0]], offset=-1
    )
    yield mask("tree_entries", "trees that differ by batch entry")(
        (4, 5), f"{past} batch", parents=[[-1, 0, 0, 0], [-1, 0, 1, 1], [-1, 0, 0, 2]], **BOTTOM_RIGHT
    )
    yield mask("tree_lengths", "pasts of other lengths in each batch entry")(
        (3, 7), f"{past} batch lengths", parents=[[-1, 0, 0]], key_lengths=[7, 4, 5], **BOTTOM_RIGHT
    )
    yield mask("tree_query_lengths", "fewer drafts that count")(
        (4, 6),
        f"{past} batch lengths",
        parents=[[-1, 0, 0, 1]],
        query_lengths=[4, 3],
        key_lengths=[6, 5],
        **BOTTOM_RIGHT,
    )
    yield mask("tree_backwards", "parents behind their children")(4, "tree tree_order", parents=[[1, 3, 3, -1]])
    yield mask("tree_backwards_past", "a chain from its end, behind a past")(
        (3, 5), "tree tree_order tree_past", parents=[[1, 2, -1]], **BOTTOM_RIGHT
    )
    yield mask("tree_mixed_order", "a parent between its children")(
        (5, 7), "tree tree_order tree_past", parents=[[2, 0, -1, 2, 1]], **BOTTOM_RIGHT
    )
    yield mask("tree_siblings_reordered", "the two branches the other way round")(
        5, "tree tree_order", parents=[[-1, 0, 0, 2, 1]]
    )
    yield mask("tree_causal", "beside causality, with parents in order")(
        (4, 6), f"{past} causal", parents=[[-1, 0, 0, 2]], **FROM_THE_END
    )
    yield mask("tree_padding", "behind a past that begins with padding")(
        (3, 6), f"{past} left_padding", parents=[[-1, 0, 0]], left_padding=[2, 0], **BOTTOM_RIGHT
    )
    yield mask("tree_additive", "a draft tree as numbers to add")(
        (3, 4), "tree additive", parents=[[-1, 0, 0]], outputs=("mask", "additive"), **BOTTOM_RIGHT
    )
    yield mask("tree_causal_out_of_order", "causality excludes a parent that stands behind")(
        3, "tree tree_order conjunction", parents=[[1, -1, 0]], **CAUSAL
    )
