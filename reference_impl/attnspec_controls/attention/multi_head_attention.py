"""Other ways to multi-head attention: biases elsewhere, heads one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec_controls.attention import attention_softmax
from attnspec_controls.control import Control
from attnspec_mistakes.patches import ignoring, in_working_precision, patch
from attnspec_reference.attention.multi_head_attention import MultiHeadAttention, multi_head_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.split_heads import split_heads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_reference.precision import Array

OPERATION = "multi_head_attention"


@in_working_precision
def late_value_bias(*, b_value: Array | None = None, **arguments: Any) -> MultiHeadAttention:
    """Add the bias of the values after the weighted sum: it passes through weights that sum to one."""
    if b_value is None:
        return multi_head_attention(**arguments)
    bias = split_heads(b_value[np.newaxis, np.newaxis], num_heads=arguments["num_heads"])

    def attend(*tensors: Any, **attributes: Any) -> Attention:
        attention = scaled_dot_product_attention(*tensors, **attributes)
        # Where no key may be attended the weights sum to zero, and the bias does not pass.
        passes = attention.logsumexp[..., np.newaxis] != -np.inf
        return attention._replace(output=np.where(passes, attention.output + bias, attention.output))

    return patch(multi_head_attention, scaled_dot_product_attention=attend)(**arguments)


def attend_online(query: Array, key: Array, value: Array, mask: Any, **attributes: Any) -> Attention:
    """Attend in each head with a softmax taken online, two keys at a time."""
    finish = attention_softmax.from_logits(attention_softmax.online(2))
    outputs = finish(query=query, key=key, value=value, mask=mask, **attributes)
    return Attention(**cast("Mapping[str, Array]", outputs))


def attend_head_by_head(query: Array, key: Array, value: Array, mask: Any, **attributes: Any) -> Attention:
    """Attend in one head after the other."""
    heads = range(query.shape[1])
    return Attention(
        *(
            np.concatenate(outputs, axis=1)
            for outputs in zip(
                *(
                    scaled_dot_product_attention(
                        query[:, head : head + 1],
                        key[:, head : head + 1],
                        value[:, head : head + 1],
                        mask_of_head(mask, head),
                        **attributes,
                    )
                    for head in heads
                ),
                strict=True,
            )
        )
    )


def mask_of_head(mask: Any, head: int) -> Any:
    """Take the part of a mask that one head reads."""
    if mask is None or mask.ndim < 3 or mask.shape[-3] == 1:
        return mask
    return mask[..., head : head + 1, :, :]


CONTROLS: tuple[Control, ...] = (
    Control(
        id="multi_head.late_value_bias",
        operation=OPERATION,
        sentence="The bias of the values is added after the weighted sum.",
        function=late_value_bias,
    ),
    Control(
        id="multi_head.key_bias_dropped",
        operation=OPERATION,
        sentence="The bias of the keys is left out: it shifts all scores of a query alike, and cancels.",
        function=ignoring(multi_head_attention, "b_key"),
    ),
    Control(
        id="multi_head.head_by_head",
        operation=OPERATION,
        sentence="The heads attend one after the other.",
        function=patch(multi_head_attention, scaled_dot_product_attention=attend_head_by_head),
    ),
    Control(
        id="multi_head.online_softmax_tiles_of_2",
        operation=OPERATION,
        sentence="In each head the softmax is taken online, in one pass over tiles of two keys.",
        function=patch(multi_head_attention, scaled_dot_product_attention=attend_online),
    ),
)
