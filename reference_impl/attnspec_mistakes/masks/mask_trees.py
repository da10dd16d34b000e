"""What goes wrong with draft trees: branches, the past before them, and the order of the drafts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import of_first, right, steps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import ignoring
from attnspec_reference.masks.attention_mask import attention_mask, on_branch
from attnspec_reference.masks.draft_tree import ancestors_of
from attnspec_reference.precision import Booleans, Integers


def own(parents: Integers) -> Booleans:
    """Mark each token itself."""
    tokens = parents.shape[-1]
    return np.broadcast_to(np.eye(tokens, dtype=np.bool_), (len(parents), tokens, tokens))


def parent_alone(parents: Integers) -> Booleans:
    """Mark each token and its parent."""
    index: Integers = np.arange(int(parents.shape[-1]))
    return own(parents) | (parents[:, :, np.newaxis] == index)


def siblings_too(parents: Integers) -> Booleans:
    """Mark every token with the same parent as one on the way up, too."""
    same_parent = parents[:, :, np.newaxis] == parents[:, np.newaxis, :]
    return np.any(ancestors_of(parents)[:, :, :, np.newaxis] & same_parent[:, np.newaxis], axis=2)


def at_or_before_in_row(parents: Integers) -> Booleans:
    """Take the tree for a chain."""
    return np.broadcast_to(np.tri(parents.shape[-1], dtype=np.bool_), own(parents).shape)


def shallower(parents: Integers) -> Booleans:
    """Mark the token itself and every token of a smaller depth."""
    depth = ancestors_of(parents).sum(axis=-1)
    return own(parents) | (depth[:, np.newaxis, :] < depth[:, :, np.newaxis])


def root_comes_from_last(parents: Integers) -> Booleans:
    """Read -1 as the last token."""
    ancestors = own(parents).copy()
    reached: Integers = np.broadcast_to(np.arange(parents.shape[-1]), parents.shape)
    entry, token = np.ogrid[: len(parents), : parents.shape[-1]]
    for _ in range(parents.shape[-1]):
        reached = parents[entry, reached]
        ancestors[entry, token, reached] = True
    return ancestors


def in_one_pass(parents: Integers) -> Booleans:
    """Take over the branch of the parent in the order of the tokens, as if parents stood before their children."""
    ancestors = own(parents).copy()
    for token in range(parents.shape[-1]):
        for entry, parent in enumerate(parents[:, token]):
            if parent >= 0:
                ancestors[entry, token] |= ancestors[entry, parent]
    return ancestors


def two_steps_up(parents: Integers) -> Booleans:
    """Walk up two tokens at most."""
    direct = parent_alone(parents)
    return np.any(direct[:, :, :, np.newaxis] & direct[:, np.newaxis], axis=2)


def doubled_too_few(parents: Integers) -> Booleans:
    """Square the table of parents as often as the logarithm of the number of drafts, rounded down."""
    reached = parent_alone(parents)
    for _ in range(int(parents.shape[-1]).bit_length() - 1):
        reached = reached @ reached
    return reached


def without_past(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """See draft tokens alone."""
    past = np.arange(key_length) < first[:, :, np.newaxis]
    return on_branch(ancestors, first, key_length) & ~past


def behind_too(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """See the keys behind the last draft, too."""
    behind = np.arange(key_length) >= first[:, :, np.newaxis] + ancestors.shape[-1]
    return on_branch(ancestors, first, key_length) | behind


def past_of_arrays(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """Take the last keys of the array for the drafts."""
    return on_branch(ancestors, np.full_like(first, key_length - ancestors.shape[-1]), key_length)


def past_one_less(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """Put the drafts one key too early, where there is a past."""
    return on_branch(ancestors, first - (first > 0), key_length)


def at_first_keys(ancestors: Booleans, first: Integers, key_length: int) -> Booleans:
    """Put the drafts at the first keys, whatever the past; keys behind them are seen."""
    return behind_too(ancestors, np.zeros_like(first), key_length)


def lower_triangle_unchecked(**arguments: Any) -> Any:
    """Read the tree above the diagonal alone: what lies at or before the query is attended."""
    if "parents" not in arguments:
        return right(**arguments)
    return steps(ancestors_of=lambda parents: ancestors_of(parents) | at_or_before_in_row(parents))(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.tree_ignored": ignoring(attention_mask, "parents"),
    "attention_mask.tree_as_chain": steps(ancestors_of=at_or_before_in_row),
    "attention_mask.tree_below_diagonal_open": lower_triangle_unchecked,
    "attention_mask.tree_siblings_seen": steps(ancestors_of=siblings_too),
    "attention_mask.tree_by_depth": steps(ancestors_of=shallower),
    "attention_mask.tree_parent_alone": steps(ancestors_of=parent_alone),
    "attention_mask.tree_two_steps_up": steps(ancestors_of=two_steps_up),
    "attention_mask.tree_doubled_too_few": steps(ancestors_of=doubled_too_few),
    "attention_mask.tree_without_itself": steps(ancestors_of=lambda parents: ancestors_of(parents) & ~own(parents)),
    "attention_mask.tree_own_token_alone": steps(ancestors_of=own),
    "attention_mask.tree_upside_down": steps(ancestors_of=lambda parents: ancestors_of(parents).swapaxes(-1, -2)),
    "attention_mask.tree_root_comes_from_last": steps(ancestors_of=root_comes_from_last),
    "attention_mask.tree_in_one_pass": steps(ancestors_of=in_one_pass),
    "attention_mask.tree_of_first_entry": of_first("parents"),
    "attention_mask.tree_past_hidden": steps(on_branch=without_past),
    "attention_mask.tree_past_of_arrays": steps(on_branch=past_of_arrays),
    "attention_mask.tree_past_one_less": steps(on_branch=past_one_less),
    "attention_mask.tree_at_first_keys": steps(on_branch=at_first_keys),
    "attention_mask.tree_keys_behind_seen": steps(on_branch=behind_too),
}
