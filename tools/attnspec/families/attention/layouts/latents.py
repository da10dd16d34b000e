"""Latent attention in the layouts with pages: latents and rotated keys lie in two pools without an axis of heads.

====================================== ==================================================================
Argument                               Meaning
====================================== ==================================================================
`latent_pool`, `key_rotary_pool`       (pages, page size, C), (pages, page size, Dr)
`block_table`, `key_lengths`, or       as in the layouts of attention
`page_starts`, `page_indices`,
`last_page_length`
====================================== ==================================================================

They are pages of attention with one key head, whose keys are latents and whose values are rotated keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.contract.arrangement import Circumstances, Layout, Repacked
from attnspec.families.attention.layouts.sequences import OPERATION, wrong_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.families.record import Arrays

_RESULTS = {"latent_attention": ("output", "w_value"), "absorbed_latent_attention": ("output_latent", "latent")}
"""Operation to its result, and to the input that is as wide."""

_AS_ATTENTION = {"latent": "key", "key_rotary": "value", "past_latent": "past_key", "past_key_rotary": "past_value"}
"""Tokens without heads to the argument of attention that they stand for."""

_AS_THEY_ARE = ("mask", "key_lengths", "query_lengths")
_POOLS = {"key_pool": "latent_pool", "value_pool": "key_rotary_pool"}
_TOKEN_AXES = 3


def with_latents(paged: Layout) -> Layout:
    """Return a layout of attention with pages that knows latents, too."""

    def arrange(operation: str, inputs: Arrays, attributes: Mapping[str, Any], circumstances: Circumstances) -> Any:
        if operation not in _RESULTS:
            return paged(operation, inputs, attributes, circumstances)
        tokens = {name: inputs[name] for name in _AS_ATTENTION if name in inputs}
        if any(array.ndim != _TOKEN_AXES for array in tokens.values()):
            return "latents or rotated keys have another rank than 3"
        if len({id(array) for array in tokens.values()}) < len(tokens):
            return "that two of the inputs are one array would be lost"
        as_attention = {
            "query": inputs["query_rotary"],
            **{_AS_ATTENTION[name]: array[:, None] for name, array in tokens.items()},
            **{name: inputs[name] for name in _AS_THEY_ARE if name in inputs},
        }
        arranged = paged(OPERATION, as_attention, attributes, circumstances)
        if not isinstance(arranged, Repacked):
            return arranged
        pools = {_POOLS[name]: arranged.inputs[name][:, :, 0] for name in _POOLS}
        tables = {name: array for name, array in arranged.inputs.items() if name not in (*_POOLS, "query")}
        others = {name: array for name, array in inputs.items() if name not in (*_AS_ATTENTION, *_AS_THEY_ARE)}
        result, as_wide = _RESULTS[operation]
        leading, width = inputs["query_rotary"].shape[:3], inputs[as_wide].shape[-1]

        def restore(outputs: Arrays) -> Arrays | str:
            return wrong_outputs(outputs, leading, width, result) or outputs

        return Repacked({**others, **pools, **tables}, arranged.attributes, restore)

    return arrange
