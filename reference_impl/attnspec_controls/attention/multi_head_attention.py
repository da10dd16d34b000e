"""Other ways to multi-head attention, biases elsewhere, heads one by one; and to the context vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attnspec_controls.attention import attention_softmax
from attnspec_controls.control import Control
from attnspec_mistakes.patches import ignoring, in_working_precision, patch
from attnspec_reference.attention.context_vector import context_vector
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


@in_working_precision
def as_attention(*, encoder_states: Array, decoder_state: Array, scale: float | None = None) -> Mapping[str, Any]:
    """Attend with a single query, whose keys are its values."""
    query, key = decoder_state[np.newaxis, np.newaxis, np.newaxis], encoder_states[np.newaxis, np.newaxis]
    attention = scaled_dot_product_attention(query, key, key, scale=scale)
    return {
        "context": attention.output[0, 0, 0],
        "weights": attention.weights[0, 0, 0],
        "scores": attention.scores[0, 0, 0],
    }


def state_by_state(weights: Array, encoder_states: Array) -> Array:
    """Give each weight an axis of its own, along the features, and add state after state."""
    context = np.zeros(encoder_states.shape[1], dtype=encoder_states.dtype)
    for weighed in weights[:, np.newaxis] * encoder_states:
        context = context + weighed
    return context


def product_as_einsum(encoder_states: Array, decoder_state: Array) -> Array:
    """Sum over the features by name."""
    return np.einsum("jd,d->j", encoder_states, decoder_state)


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
    Control(
        id="context_vector.as_attention",
        operation="context_vector",
        sentence="It is computed as attention with a single query.",
        function=as_attention,
    ),
    Control(
        id="context_vector.state_by_state",
        operation="context_vector",
        sentence="The weighted states are added strictly one after the other.",
        function=patch(context_vector, score_every_state=product_as_einsum, weigh_states=state_by_state),
    ),
)
