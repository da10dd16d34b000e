"""Context vector: what a decoder takes from an encoder.

One decoder state is compared with every encoder state; the context is the mean of the encoder states,
weighted by how well they fit. The specification page is ``spec/operations/attention/context_vector.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.phases import applied_scale, scale_scores
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen


class ContextVector(NamedTuple):
    """What the context vector is made of, the result first.

    Attributes
    ----------
    context
        Weighted mean of the encoder states (D,).
    weights
        Share of each encoder state (S,); they sum to one.
    scores
        Dot products times the scale (S,).
    raw_scores
        Dot products (S,).
    """

    context: Array
    weights: Array
    scores: Array
    raw_scores: Array


@quietly
def context_vector(encoder_states: ArrayLike, decoder_state: ArrayLike, *, scale: float | None = None) -> ContextVector:
    """Take the mean of the encoder states, weighted by how well they fit the decoder state.

    Parameters
    ----------
    encoder_states
        One state for each token (S, D). Their dtype is the dtype of the results.
    decoder_state
        The state that asks (D,).
    scale
        Factor of the dot products; one over the square root of D when None.

    Returns
    -------
    result
        ``context``, ``weights``, ``scores`` and ``raw_scores``, in the dtype of ``encoder_states``.

    Raises
    ------
    ValueError
        The states differ in width, or have the wrong rank.
    """
    # Check the inputs
    check_inputs(np.shape(encoder_states), np.shape(decoder_state))

    # Widen
    dtype = result_dtype(encoder_states)
    encoder_states, decoder_state = widen(encoder_states, dtype), widen(decoder_state, dtype)

    # Score every state
    raw_scores = score_every_state(encoder_states, decoder_state)

    # Scale
    scores = scale_scores(raw_scores, applied_scale(scale, decoder_state.shape[0]))

    # Softmax over states
    weights = softmax(scores, axis=-1)

    # Weigh the states
    context = weigh_states(weights, encoder_states)

    # Round
    return ContextVector(
        context=round_to(dtype, context),
        weights=round_to(dtype, weights),
        scores=round_to(dtype, scores),
        raw_scores=round_to(dtype, raw_scores),
    )


def check_inputs(encoder_states: tuple[int, ...], decoder_state: tuple[int, ...]) -> None:
    """Refuse states that cannot be compared."""
    shapes = f"encoder_states has shape {encoder_states}, decoder_state {decoder_state}"
    if len(encoder_states) != 2 or len(decoder_state) != 1:
        raise ValueError(f"{shapes}; they need the shapes (tokens, features) and (features,).")
    if encoder_states[1] != decoder_state[0] or decoder_state[0] == 0:
        raise ValueError(f"{shapes}: both need the same number of features, at least one.")


def score_every_state(encoder_states: Array, decoder_state: Array) -> Array:
    """Take the dot product of every encoder state with the decoder state (S,)."""
    return encoder_states @ decoder_state


def weigh_states(weights: Array, encoder_states: Array) -> Array:
    """Sum the encoder states, each times its own weight (D,)."""
    return weights @ encoder_states
