"""What goes wrong in context vectors of an encoder and in initial weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_layers import left_out
from attnspec_mistakes.mistake import Made
from attnspec_mistakes.patches import defaulting, ignoring, named_output, patch, through_float16
from attnspec_reference.attention.context_vector import ContextVector, context_vector
from attnspec_reference.attention.glorot_normal import glorot_normal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.mistake import Making
    from attnspec_mistakes.patches import Computation, Outputs
    from attnspec_reference.precision import Array


def scaled_by_default(formula: Callable[[int, int], float]) -> Computation:
    """Make a context vector whose default scale is a formula of the numbers of tokens and features."""
    return defaulting(context_vector, scale=lambda arguments: formula(*np.shape(arguments["encoder_states"])))


def features_cut(**arguments: Any) -> ContextVector:
    """Compare only the features that both states have."""
    width = min(np.shape(arguments["encoder_states"])[-1], np.shape(arguments["decoder_state"])[-1])
    for name in ("encoder_states", "decoder_state"):
        arguments[name] = arguments[name][..., :width]
    return context_vector(**arguments)


TRUNCATED_DEVIATION = 0.87962566103423978
"""Standard deviation of the standard normal distribution that is cut off at -2 and 2."""


def spread(formula: Callable[[int, int], float]) -> Computation:
    """Make an initialisation with another standard deviation."""
    return named_output(patch(glorot_normal, standard_deviation=formula))


def drawn(draw: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Computation:
    """Make an initialisation from another distribution than the standard normal one."""
    return named_output(
        patch(glorot_normal, draw_standard_normal=lambda shape, seed: draw(np.random.default_rng(seed), shape))
    )


def truncated(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw again whatever lies more than two standard deviations from 0."""
    numbers = generator.standard_normal(shape)
    while (outside := np.abs(numbers) > 2).any():
        numbers[outside] = generator.standard_normal(int(outside.sum()))
    return numbers


class OneGenerator:
    """An initialisation that goes on with one random sequence, whatever seed it is given."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:  # noqa: ARG002 - that is the mistake
        """Draw the next matrix."""
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=int(self.generator.integers(2**31)))}


class OneGeneratorForZero(OneGenerator):
    """An initialisation that takes a seed of 0 for none."""

    def __call__(self, *, fan_in: int, fan_out: int, seed: int) -> Outputs:
        """Draw the next matrix for the seed 0, and that of the seed for any other."""
        if not seed:
            return super().__call__(fan_in=fan_in, fan_out=fan_out, seed=seed)
        return {"output": glorot_normal(fan_in=fan_in, fan_out=fan_out, seed=seed)}


FUNCTIONS: Mapping[str, Making] = {
    "context_vector.score_of_every_feature": patch(
        context_vector, score_every_state=lambda encoder_states, decoder_state: encoder_states.T @ decoder_state
    ),
    "context_vector.scale_missing": scaled_by_default(lambda _tokens, _features: 1.0),
    "context_vector.scale_multiplied": scaled_by_default(lambda _tokens, features: math.sqrt(features)),
    "context_vector.scale_from_number_of_tokens": scaled_by_default(lambda tokens, _features: 1.0 / math.sqrt(tokens)),
    "context_vector.stated_scale_ignored": ignoring(context_vector, "scale"),
    "context_vector.scores_as_weights": patch(
        context_vector, scale_scores=lambda raw_scores, _scale: raw_scores, softmax=left_out
    ),
    "context_vector.softmax_missing": patch(context_vector, softmax=left_out),
    "context_vector.uniform_mean": patch(
        context_vector, softmax=lambda scores, *, axis: np.full_like(scores, 1.0 / scores.shape[axis])
    ),
    "context_vector.weights_on_features": patch(
        context_vector, weigh_states=lambda weights, encoder_states: np.sum(weights * encoder_states, axis=0)
    ),
    "context_vector.scale_one_over_width": scaled_by_default(lambda _tokens, features: 1.0 / features),
    "context_vector.width_not_checked": features_cut,
    "context_vector.through_float16": patch(context_vector, widen=through_float16),
    "glorot_normal.variance_as_deviation": spread(lambda fan_in, fan_out: 2.0 / (fan_in + fan_out)),
    "glorot_normal.he_deviation": spread(lambda fan_in, _fan_out: math.sqrt(2.0 / fan_in)),
    "glorot_normal.one_over_sum": spread(lambda fan_in, fan_out: math.sqrt(1.0 / (fan_in + fan_out))),
    "glorot_normal.uniform": drawn(lambda generator, shape: generator.uniform(-math.sqrt(3), math.sqrt(3), shape)),
    "glorot_normal.truncated": drawn(truncated),
    "glorot_normal.truncated_and_stretched": drawn(
        lambda generator, shape: truncated(generator, shape) / TRUNCATED_DEVIATION
    ),
    "glorot_normal.mean_shifted": drawn(lambda generator, shape: generator.normal(1.0, 1.0, shape)),
    "glorot_normal.only_positive": drawn(lambda generator, shape: generator.uniform(0.0, math.sqrt(12), shape)),
    "glorot_normal.transposed": named_output(lambda **arguments: glorot_normal(**arguments).T),
    "glorot_normal.seed_ignored": Made(named_output(glorot_normal), begin=OneGenerator),
    "glorot_normal.seed_of_zero_ignored": Made(named_output(glorot_normal), begin=OneGeneratorForZero),
    "glorot_normal.drawn_in_pairs": drawn(
        lambda generator, shape: generator.standard_normal(2 * (math.prod(shape) // 2)).reshape(shape)
    ),
}
