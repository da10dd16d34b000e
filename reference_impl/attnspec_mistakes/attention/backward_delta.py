"""What goes wrong in the gradient of the softmax: delta left out, or of something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import in_some, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import gradient_of_softmax, sum_attended
from attnspec_reference.attention.phases import score_every_key
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.precision import result_dtype, widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array, Booleans


def subtracting(change: Callable[[Array], Array]) -> Backward:
    """Make a backward pass that subtracts something else than delta less the gradient of the logsumexp."""

    def gradient(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
        return gradient_of_softmax(weights, grad_weights, change(subtracted), attendable)

    return departure(scaled_dot_product_attention_backward, gradient_of_softmax=gradient)


def without_subtracting(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Multiply each weight by its gradient."""
    return np.where(attendable, weights * grad_weights, 0)


def without_weights(_weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Leave the weight out, by which the difference is multiplied."""
    return np.where(attendable, grad_weights - subtracted[..., np.newaxis], 0)


def of_each_on_its_own(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Take the derivative of the logistic function: each weight moves with its own logit alone."""
    return np.where(attendable, weights * (1 - weights) * grad_weights, 0)


def over_queries(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
    """Subtract the mean over the queries of each key instead of the mean over the keys of each query."""
    delta = np.where(attendable, weights * grad_weights, 0).sum(axis=-2, keepdims=True)
    return np.where(attendable, weights * (grad_weights - delta), 0)


def by_tiles(tile: int) -> Backward:
    """Make a backward pass that subtracts the delta of each tile of keys in it."""

    def gradient(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
        parts: list[Array] = []
        for start in range(0, weights.shape[-1], tile):
            part = slice(start, start + tile)
            delta = sum_attended(weights[..., part] * grad_weights[..., part], attendable[..., part])
            parts.append(gradient_of_softmax(weights[..., part], grad_weights[..., part], delta, attendable[..., part]))
        return np.concatenate(parts, axis=-1) if parts else weights

    return departure(scaled_dot_product_attention_backward, gradient_of_softmax=gradient)


def of_features(count: Callable[[int, int], int]) -> Backward:
    """Make a backward pass that takes the product of output and its gradient over some features alone."""

    def computed(**arguments: Any) -> AttentionGradients:
        output = arguments.get("output")
        if output is None:
            return scaled_dot_product_attention_backward(**arguments)
        features = count(np.shape(arguments["query"])[-1], np.shape(output)[-1])
        kept: Booleans = np.less(np.arange(int(np.shape(output)[-1])), features)
        arguments["output"] = np.where(kept, output, 0).astype(result_dtype(output))
        return scaled_dot_product_attention_backward(**arguments)

    return computed


def output_as_its_gradient(**arguments: Any) -> AttentionGradients:
    """Take the square of the stored output."""
    output = arguments.get("output")
    if output is None:
        return scaled_dot_product_attention_backward(**arguments)
    widened = widen(output, result_dtype(output))
    squares = (widened * widened).sum(axis=-1)

    def gradient(weights: Array, grad_weights: Array, _subtracted: Array, attendable: Booleans) -> Array:
        return gradient_of_softmax(weights, grad_weights, squares, attendable)

    return departure(scaled_dot_product_attention_backward, gradient_of_softmax=gradient)(**arguments)


def heads_for_tokens(delta: Array) -> Array:
    """Read (B, Hq, Sq) as if it lay in memory as (B, Sq, Hq)."""
    return np.swapaxes(delta.reshape(delta.shape[0], delta.shape[2], delta.shape[1]), 1, 2)


def of_first_head(delta: Array) -> Array:
    """Take the delta of the first head for all."""
    return np.broadcast_to(delta[:, :1], delta.shape)


def unweighted(products: Array, attendable: Booleans) -> Array:
    """Divide the sum by the number of keys."""
    return sum_attended(products, attendable) / max(products.shape[-1], 1)


def scores_of_absolute(grad_output: Array, value: Array) -> Array:
    """Leave the sign of the gradient out."""
    return score_every_key(np.abs(grad_output), value)


MISTAKES = (
    mistake(
        id="sdpa_backward.delta_dropped",
        clause="sdpa_backward.delta",
        sentence="Nothing was subtracted from the gradients of the weights: they were multiplied by the weights alone.",
        engineer="The row term D = rowsum(dO * O) is missing in dS = P * (dP - D).",
        remedy="Subtract delta, the weighted mean of the gradients of a query's weights, before the product.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_softmax=without_subtracting),
    ),
    mistake(
        id="sdpa_backward.delta_added",
        clause="sdpa_backward.delta",
        sentence="Delta was added to the gradients of the weights instead of subtracted from them.",
        engineer="The sign of D is wrong: dS = P * (dP + D).",
        remedy="Subtract delta: weight times (gradient of the weight less delta).",
        function=subtracting(np.negative),
    ),
    mistake(
        id="sdpa_backward.delta_halved",
        clause="sdpa_backward.delta",
        sentence="Half of delta was subtracted.",
        engineer="D is summed over half a warp, or halved by an average of two partial sums.",
        remedy="Subtract the whole of delta.",
        function=subtracting(lambda delta: delta / 2),
    ),
    mistake(
        id="sdpa_backward.delta_divided_by_keys",
        clause="sdpa_backward.delta",
        sentence="The sum of weights times their gradients was divided by the number of keys.",
        engineer="D is a mean over the row instead of its sum: the weights make it a mean already.",
        remedy="Sum the gradients of the weights, each times its weight, and divide by nothing.",
        function=departure(scaled_dot_product_attention_backward, sum_attended=unweighted),
    ),
    mistake(
        id="sdpa_backward.delta_over_queries",
        clause="sdpa_backward.delta",
        sentence="The mean that is subtracted was taken over the queries of a key, not over the keys of a query.",
        engineer="D is reduced along the wrong axis of dP, as for a softmax over queries.",
        remedy="Sum along the keys: one delta for each query.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_softmax=over_queries),
    ),
    mistake(
        id="sdpa_backward.delta_of_its_tile",
        clause="sdpa_backward.delta",
        sentence="Delta was summed over four keys at a time, and each four got a delta of their own.",
        engineer="D is reduced inside the key tile instead of over the whole row.",
        remedy="Finish delta over all keys of a query before it is subtracted.",
        function=by_tiles(4),
    ),
    mistake(
        id="sdpa_backward.delta_of_first_head",
        clause="sdpa_backward.delta",
        sentence="Every head got the delta of the first head.",
        engineer="The head stride of D is 0.",
        remedy="Find delta for each query of each head.",
        function=subtracting(of_first_head),
    ),
    mistake(
        id="sdpa_backward.delta_heads_for_tokens",
        clause="sdpa_backward.delta",
        sentence="Heads and tokens of delta changed places on the way.",
        engineer="D is written as (B, Sq, Hq) and read as (B, Hq, Sq).",
        remedy="Read delta in the order of axes in which it was written.",
        function=subtracting(heads_for_tokens),
    ),
    mistake(
        id="sdpa_backward.delta_of_key_width",
        clause="sdpa_backward.stored",
        sentence="Delta was summed over as many features as a key has, but values have more.",
        engineer="rowsum(dO * O) runs over head_dim_qk instead of head_dim_v.",
        remedy="Sum the products of output and its gradient over all features of the values.",
        function=of_features(min),
    ),
    mistake(
        id="sdpa_backward.delta_without_last_feature",
        clause="sdpa_backward.stored",
        sentence="The last feature of the stored output was left out of delta where their number is odd.",
        engineer="rowsum(dO * O) reads two features at a time and drops what is left over.",
        remedy="Sum the products of output and its gradient over all features of the values.",
        function=of_features(lambda _, width: max(width // 2 * 2, 1)),
    ),
    mistake(
        id="sdpa_backward.delta_of_output_squared",
        clause="sdpa_backward.stored",
        sentence="Delta was taken as the square of the output instead of output times its gradient.",
        engineer="D = rowsum(O * O): dO is not read.",
        remedy="Multiply the output by its gradient, feature by feature, and sum.",
        function=output_as_its_gradient,
    ),
    mistake(
        id="sdpa_backward.weight_left_out",
        clause="sdpa_backward.grad_logits",
        sentence="The gradients of the logits were not multiplied by the weights.",
        engineer="dS = dP - D: the factor P is missing.",
        remedy="Multiply the gradient of each weight less delta by the weight.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_softmax=without_weights),
    ),
    mistake(
        id="sdpa_backward.softmax_as_sigmoid",
        clause="sdpa_backward.grad_logits",
        sentence="The softmax was differentiated like a sigmoid: weight times one less the weight, for each key alone.",
        engineer="Only the diagonal of the softmax Jacobian is applied: dS = P * (1 - P) * dP.",
        remedy="Subtract delta from the gradient of each weight: all weights of a query move together.",
        function=departure(scaled_dot_product_attention_backward, gradient_of_softmax=of_each_on_its_own),
    ),
    mistake(
        id="sdpa_backward.delta_wrong_for_keys",
        clause="sdpa_backward.delta",
        sentence="Delta was subtracted for the gradient of the queries, and not for that of the keys.",
        engineer="The kernel for dQ subtracts D, the one for dK and dV does not.",
        remedy="Use the same gradients of the scores for queries and for keys.",
        function=in_some(
            departure(scaled_dot_product_attention_backward, gradient_of_softmax=without_subtracting), "grad_key"
        ),
    ),
    mistake(
        id="sdpa_backward.gradient_without_sign",
        clause="sdpa_backward.grad_weights",
        sentence="The gradients of the weights came from the gradient of the output without its sign.",
        engineer="dP = |dO| V^T: dO goes through abs, as an unsigned quantiser does.",
        remedy="Multiply the gradient of the output as it is by the values.",
        function=departure(scaled_dot_product_attention_backward, score_every_key=scores_of_absolute),
    ),
)
