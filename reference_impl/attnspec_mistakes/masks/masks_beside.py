"""What goes wrong around masks: inputs edited, memory misread, calls remembered, and inputs that are not looked at."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.masks.making_masks import right, steps, unchecked
from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, read_forwards, remembering, without_gaps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, Outputs, altered, on_calls, patch
from attnspec_reference.masks.attention_mask import attention_mask
from attnspec_reference.masks.draft_tree import ancestors_of
from attnspec_reference.masks.mask_inputs import check_inputs

READ = ("key_lengths", "key_documents", "parents", "attended_blocks")
"""The inputs that cases have in other memory layouts."""


def edited(name: str, written: Any) -> Computation:
    """Leave something else in an input."""
    return on_calls(
        attention_mask,
        lambda given: name in given,
        overwriting(attention_mask, name, lambda given, _outputs: written(given[name])),
    )


def clamped(**arguments: Any) -> Outputs:
    """Bring lengths into their range."""
    queries, keys = arguments["query_length"], arguments.get("key_length")
    most = {"query_lengths": queries}
    largest = queries if keys is None else keys
    for name in ("key_lengths", "query_lengths", "left_padding", "prefix_lengths"):
        if name in arguments:
            arguments[name] = np.clip(arguments[name], 0, most.get(name, largest))
    return right(**arguments)


def half_ignored(**arguments: Any) -> Outputs:
    """Leave out what lacks its other half, or what another argument excludes."""
    for one, other in (
        ("query_documents", "key_documents"),
        ("query_starts", "key_starts"),
        ("attended_blocks", "attended_block_size"),
    ):
        if (one in arguments) != (other in arguments):
            arguments = {name: value for name, value in arguments.items() if name not in (one, other)}
    if "query_starts" in arguments or arguments.get("causal_alignment") == "bottom_right":
        arguments.pop("offset", None)
    if "query_starts" in arguments:
        arguments.pop("key_lengths", None)
    return right(**arguments)


def sizes_of_one(**arguments: Any) -> Outputs:
    """Take a size below 1 for 1."""
    if arguments.get("chunk") is not None:
        arguments["chunk"] = max(arguments["chunk"], 1)
    if "block_size" in arguments:
        arguments["block_size"] = [max(size, 1) for size in arguments["block_size"]]
    return right(**arguments)


def any_parents(**arguments: Any) -> Outputs:
    """Wrap parents into the tree, and walk up no longer than there are tokens."""

    def wrapped(parents: Any) -> Any:
        return ancestors_of(np.where(parents < 0, -1, parents % max(parents.shape[-1], 1)))

    return unchecked_parents(wrapped)(**arguments)


def unchecked_parents(wrapped: Any) -> Computation:
    """Walk up any parents."""
    return steps(check_inputs=patch(check_inputs, check_parents=lambda _parents: None), ancestors_of=wrapped)


def fitted(**arguments: Any) -> Outputs:
    """Repeat or cut inputs until they fit."""
    queries, keys = arguments["query_length"], arguments.get("key_length")
    lengths = {"query_documents": queries, "parents": queries, "key_documents": queries if keys is None else keys}
    for name, length in lengths.items():
        if name in arguments:
            rows = np.atleast_2d(arguments[name])
            arguments[name] = np.resize(rows, (len(rows), length))
    vectors = [name for name in ("key_lengths", "query_lengths", "left_padding", "prefix_lengths") if name in arguments]
    entries = min((len(arguments[name]) for name in vectors if len(arguments[name]) > 1), default=1)
    for name in vectors:
        arguments[name] = arguments[name][:entries]
    if "attended_blocks" in arguments and "attended_block_size" in arguments:
        size, table = arguments["attended_block_size"], np.asarray(arguments["attended_blocks"])
        rows, columns = -(-queries // size[0]), -(-lengths["key_documents"] // size[1])
        arguments["attended_blocks"] = table[..., np.arange(rows) % table.shape[-2], :][
            ..., np.arange(columns) % table.shape[-1]
        ]
    return right(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "attention_mask.parents_edited": edited("parents", lambda parents: parents + 1),
    "attention_mask.lengths_edited": edited("key_lengths", np.zeros_like),
    "attention_mask.documents_edited": edited("key_documents", lambda documents: np.maximum(documents, 0) * 0),
    "attention_mask.blocks_edited": edited("attended_blocks", np.ones_like),
    "attention_mask.strides_ignored": altered(attention_mask, **dict.fromkeys(READ, as_it_lies_in_memory)),
    "attention_mask.gaps_ignored": altered(attention_mask, **dict.fromkeys(READ, without_gaps)),
    "attention_mask.always_forwards": altered(attention_mask, **dict.fromkeys(READ, read_forwards)),
    "attention_mask.parents_remembered": remembering(attention_mask, "parents", "query_length", "key_length"),
    "attention_mask.lengths_remembered": remembering(attention_mask, "key_lengths", "query_length", "key_length"),
    "attention_mask.window_remembered": remembering(attention_mask, "window", "query_length", "key_length"),
    "attention_mask.documents_remembered": remembering(attention_mask, "key_documents", "query_length", "key_length"),
    "attention_mask.offset_remembered": remembering(attention_mask, "offset", "query_length", "key_length"),
    "attention_mask.sizes_of_one": sizes_of_one,
    "attention_mask.lengths_clamped": clamped,
    "attention_mask.shapes_fitted": fitted,
    "attention_mask.any_parents": any_parents,
    "attention_mask.any_starts": unchecked(check_starts=lambda *_given: None),
    "attention_mask.halves_ignored": half_ignored,
}
