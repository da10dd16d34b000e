"""Making mistakes of masks: the reference with a step replaced, or a mask that is written anew."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from attnspec_mistakes.patches import Computation, Outputs, patch
from attnspec_reference.masks.attended_blocks import blocks_attended, blocks_attended_whole, listed
from attnspec_reference.masks.attention_mask import AttentionMask, as_additive, attention_mask
from attnspec_reference.masks.mask_inputs import check_inputs
from attnspec_reference.precision import Booleans, Integers

right: Callable[..., AttentionMask] = attention_mask
"""The mask as it should be, with arguments that are put together."""

BY_ENTRY = (
    *("key_lengths", "query_lengths", "left_padding", "prefix_lengths"),
    *("query_documents", "key_documents", "parents"),
)
"""The inputs that each batch entry has its own of, beside a table of blocks."""


def steps(**replaced: object) -> Computation:
    """Replace steps of the mask."""
    return patch(attention_mask, **replaced)


def unchecked(**replaced: object) -> Computation:
    """Replace checks of the inputs."""
    return steps(check_inputs=patch(check_inputs, **replaced))


def written_anew(change: Callable[[Booleans, Mapping[str, Any]], Booleans]) -> Computation:
    """Change the mask that is right, by a function of it and of the arguments, before it is written and listed."""

    @wraps(attention_mask)
    def computed(**arguments: Any) -> Outputs:
        mask = change(right(**arguments).mask, arguments)
        size = arguments.get("block_size", (128, 128))
        return AttentionMask(
            mask, as_additive(mask), *listed(blocks_attended(mask, size)), *listed(blocks_attended_whole(mask, size))
        )

    return computed


def of_first_entry(array: Any) -> Any:
    """Take the first batch entry for all of them."""
    return np.broadcast_to(array[:1], array.shape)


def of_first(*names: str) -> Computation:
    """Hear the first batch entry of some inputs alone."""

    @wraps(attention_mask)
    def computed(**arguments: Any) -> Outputs:
        heard = {name: of_first_entry(array) if name in names else array for name, array in arguments.items()}
        return right(**heard)

    return computed


def beside_padding(given: Mapping[str, Any]) -> bool:
    """Say whether lengths of keys or padding are given."""
    return given.get("key_lengths") is not None or given.get("left_padding") is not None


def nothing_excluded(k: Integers, p: Integers, *_given: Any) -> Booleans:
    """Allow every pair."""
    return np.ones(np.broadcast_shapes(np.shape(k), np.shape(p)), dtype=np.bool_)
