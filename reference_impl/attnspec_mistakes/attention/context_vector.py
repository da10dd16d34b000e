"""What goes wrong in the context vector: what a weight belongs to, the scale, the softmax."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import defaulting, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.attention.context_vector import ContextVector, context_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "context_vector"


def scaled_by_default(formula: Callable[[int, int], float]) -> Computation:
    """Make a context vector whose default scale is a formula of the numbers of tokens and features."""
    return defaulting(context_vector, scale=lambda arguments: formula(*np.shape(arguments["encoder_states"])))


def one(_tokens: int, _features: int) -> float:
    """Leave the scores unscaled."""
    return 1.0


def root_of_features(_tokens: int, features: int) -> float:
    """Multiply by the root."""
    return math.sqrt(features)


def inverse_root_of_tokens(tokens: int, _features: int) -> float:
    """Take the number of tokens for the number of features."""
    return 1.0 / math.sqrt(tokens)


def score_of_every_feature(encoder_states: Array, decoder_state: Array) -> Array:
    """Take the dot product of every feature, down the tokens, with the decoder state."""
    return encoder_states.T @ decoder_state


def unscaled(raw_scores: Array, _scale: float) -> Array:
    """Leave the scores as they are."""
    return raw_scores


def left_out(scores: Array, *, axis: int) -> Array:  # noqa: ARG001 - the mistake is to ignore it
    """Take the scores themselves for weights."""
    return scores


def equal_shares(scores: Array, *, axis: int) -> Array:
    """Give every token the same weight."""
    return np.full_like(scores, 1.0 / scores.shape[axis])


def weighed_features(weights: Array, encoder_states: Array) -> Array:
    """Multiply feature j of every state by weight j; where there are not as many of both, NumPy has it or raises."""
    return np.sum(weights * encoder_states, axis=0)


def inverse_of_features(_tokens: int, features: int) -> float:
    """Leave the root out."""
    return 1.0 / features


def features_cut(**arguments: Any) -> ContextVector:
    """Compare only the features that both states have."""
    width = min(np.shape(arguments["encoder_states"])[-1], np.shape(arguments["decoder_state"])[-1])
    for name in ("encoder_states", "decoder_state"):
        arguments[name] = arguments[name][..., :width]
    return context_vector(**arguments)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="context_vector.score_of_every_feature",
        clause="context_vector.raw_scores",
        sentence="The encoder states were transposed: the scores belong to features, not to tokens.",
        engineer="The matrix-vector product contracts the token axis: the operand is transposed.",
        remedy="Take the dot product of each encoder state, a row, with the decoder state.",
        function=departure(context_vector, score_every_state=score_of_every_feature),
    ),
    mistake(
        id="context_vector.scale_missing",
        clause="context_vector.scale.default",
        sentence="The scores were not scaled.",
        engineer="The softmax scale is left at 1.0.",
        remedy="Multiply the dot products by 1/sqrt(D), D being the number of features.",
        function=scaled_by_default(one),
    ),
    mistake(
        id="context_vector.scale_multiplied",
        clause="context_vector.scale.default",
        sentence="The scores were multiplied by sqrt(D) instead of divided by it.",
        engineer="The scale is sqrt(d) where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(D), D being the number of features.",
        function=scaled_by_default(root_of_features),
    ),
    mistake(
        id="context_vector.scale_from_number_of_tokens",
        clause="context_vector.scale.default",
        sentence="The scale was taken from the number of tokens instead of the number of features.",
        engineer="The default scale is derived from the sequence length instead of the width.",
        remedy="Take the scale from the length of the decoder state: 1/sqrt(D).",
        function=scaled_by_default(inverse_root_of_tokens),
    ),
    mistake(
        id="context_vector.stated_scale_ignored",
        clause="context_vector.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        engineer="The scale argument does not reach the kernel, which computes its own default.",
        remedy="Multiply the dot products by the given scale in place of 1/sqrt(D).",
        function=ignoring(context_vector, "scale"),
    ),
    mistake(
        id="context_vector.scores_as_weights",
        clause="context_vector.softmax",
        sentence="The dot products were used as weights, without scale and softmax.",
        engineer="Raw dot products are fed to the weighted sum; scale and softmax are skipped.",
        remedy="Scale the dot products and take their softmax; only then are they weights.",
        function=departure(context_vector, scale_scores=unscaled, softmax=left_out),
        erratum="E003.weights_equated_with_scores",
    ),
    mistake(
        id="context_vector.softmax_missing",
        clause="context_vector.softmax",
        sentence="The scaled scores were used as weights, without a softmax.",
        engineer="Scaled scores are fed to the weighted sum without a softmax.",
        remedy="Take the softmax of the scaled scores over the tokens.",
        function=departure(context_vector, softmax=left_out),
    ),
    mistake(
        id="context_vector.uniform_mean",
        clause="context_vector.softmax",
        sentence="Every token got the same weight, whatever its score.",
        engineer="The weights are 1/S: mean pooling, not attention.",
        remedy="Take the softmax of the scaled scores over the tokens.",
        function=departure(context_vector, softmax=equal_shares),
    ),
    mistake(
        id="context_vector.weights_on_features",
        clause="context_vector.context",
        sentence="The weights were laid along the features: weight j multiplied feature j of every token.",
        engineer="The weights broadcast along the feature axis instead of the token axis.",
        remedy="Multiply each state, a row, by its own weight, then sum over the tokens: weights @ encoder_states.",
        function=departure(context_vector, weigh_states=weighed_features),
        erratum="E003.context_broadcast",
    ),
    mistake(
        id="context_vector.scale_one_over_width",
        clause="context_vector.scale.default",
        sentence="The scores were divided by D instead of its square root.",
        engineer="The scale is 1/d where 1/sqrt(d) is due.",
        remedy="Multiply the dot products by 1/sqrt(D), D being the number of features.",
        function=scaled_by_default(inverse_of_features),
    ),
    mistake(
        id="context_vector.width_not_checked",
        clause="context_vector.rejects.width",
        sentence="States of different widths were accepted, and the wider ones cut.",
        engineer="The inner loop bound is taken from one operand and not checked against the other.",
        remedy="Refuse encoder and decoder states of different numbers of features.",
        function=features_cut,
    ),
    widened_through_float16(
        "context_vector", OPERATION, "context_vector.context", departure(context_vector, widen=through_float16)
    ),
)
