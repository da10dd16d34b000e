"""Other ways to the context vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference.attention.context_vector import context_vector
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_reference.precision import Array

OPERATION = "context_vector"


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
        id="context_vector.as_attention",
        operation=OPERATION,
        sentence="It is computed as attention with a single query.",
        function=as_attention,
    ),
    Control(
        id="context_vector.state_by_state",
        operation=OPERATION,
        sentence="The weighted states are added strictly one after the other.",
        function=patch(context_vector, score_every_state=product_as_einsum, weigh_states=state_by_state),
    ),
)
