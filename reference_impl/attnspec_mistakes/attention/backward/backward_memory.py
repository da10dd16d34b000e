"""What goes wrong in the backward pass with memory, dtypes, and at the ends of a range."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_mistakes.attention.forward.attention_patches import Backward, backward_with, replaying
from attnspec_mistakes.misread_memory import (
    as_it_lies_in_memory,
    distinguished,
    overwriting,
    read_forwards,
    remembering,
    tokens_close_together,
    without_gaps,
)
from attnspec_mistakes.mistake import Made, Making
from attnspec_mistakes.patches import Outputs, altered, by_name, in_single_precision, on_calls, through_float16
from attnspec_reference.attention.attention_logits import add_distance_bias, cap_scores
from attnspec_reference.attention.phases import applied_scale, largest_logit, score_every_key
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
    sum_for_keys,
    sum_for_queries,
    sum_to_mask,
)
from attnspec_reference.precision import Array, Booleans, result_dtype, round_to

TENSORS = ("grad_output", "query", "key", "value", "mask")


def one_part_after_the_other(array: Array) -> Array:
    """Read an array from where it begins, and find zeros behind what it holds in memory."""
    stored_once = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
    memory = np.zeros(array.size, dtype=array.dtype)
    memory[: stored_once.size] = stored_once.ravel(order="K")
    return memory.reshape(array.shape)


def query_scaled(**arguments: Any) -> AttentionGradients:
    """Multiply the caller's query by the scale once it has served."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    query = arguments["query"]
    query *= np.asarray(applied_scale(arguments.get("scale"), query.shape[-1]), dtype=query.dtype)
    return gradients


def output_as_workspace(**arguments: Any) -> AttentionGradients:
    """Leave the products with the gradient in the caller's output."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    if arguments.get("output") is not None:
        arguments["output"][...] = arguments["output"] * arguments["grad_output"]
    return gradients


def logsumexp_as_workspace(**arguments: Any) -> AttentionGradients:
    """Take the gradient from the caller's logsumexp."""
    gradients = scaled_dot_product_attention_backward(**arguments)
    if arguments.get("logsumexp") is not None and arguments.get("grad_logsumexp") is not None:
        arguments["logsumexp"][...] = arguments["logsumexp"] - arguments["grad_logsumexp"]
    return gradients


def gradient_written(arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Return what is left in the caller's gradient: that of the values where it has this shape, else zeros."""
    given, gradient = arguments["grad_output"], outputs["grad_value"]
    return gradient if gradient.shape == given.shape else np.zeros_like(given)


class Accumulating:
    """A backward pass that adds to the gradients of the call before, where they have the same shape.

    Parameters
    ----------
    names
        The gradients that are not cleared.
    """

    def __init__(self, *names: str) -> None:
        self.names = names
        self.before: dict[tuple[Any, ...], Mapping[str, Array]] = {}

    def __call__(self, **arguments: Any) -> Outputs:
        """Compute the gradients, and add those of the call before."""
        found = by_name(scaled_dot_product_attention_backward(**arguments))
        kind = tuple(distinguished(found[name]) for name in self.names)
        before = self.before.get(kind, {})
        # Another call alone adds: the same call again is not distinguished from the first.
        outputs = {name: array + before[name] if name in before else array for name, array in found.items()}
        self.before[kind] = {name: np.array(outputs[name]) for name in self.names}
        return outputs


def remembered(name: str) -> Made:
    """Make a mistake that remembers an argument for all calls with inputs of the same shapes."""
    return remembering(scaled_dot_product_attention_backward, name, "query", "key", "value")


def in_dtype(dtype: Any, *names: str) -> Callable[..., Any]:
    """Make a backward pass that returns some gradients in another dtype."""

    @wraps(scaled_dot_product_attention_backward)
    def computed(**arguments: Any) -> AttentionGradients:
        gradients = scaled_dot_product_attention_backward(**arguments)
        return gradients._replace(**{name: getattr(gradients, name).astype(dtype) for name in names})

    return computed


def added_in_dtype(of_scores: Array, of_queries: Array, dtype: Any) -> Array:
    """Add what the queries give one after the other, and round after each."""
    products = of_scores.swapaxes(-1, -2)
    total = np.zeros((*products.shape[:-1], of_queries.shape[-1]), dtype=products.dtype)
    for query in range(products.shape[-1]):
        added = products[..., query : query + 1] * of_queries[..., query : query + 1, :]
        total = round_to(dtype, total + np.where(products[..., query : query + 1] == 0, 0, added)).astype(total.dtype)
    return total


def reading(read: Callable[[Array], Array], *names: str) -> Backward:
    """Make a backward pass that misreads some of its inputs."""
    return altered(scaled_dot_product_attention_backward, **dict.fromkeys(names, read))


_HALF = np.dtype(np.float16).itemsize


def smallest_logit(logits: Array) -> Array:
    """Find the smallest logit of each row that is attended; minus infinity where there is none."""
    least = np.where(logits == -np.inf, np.inf, logits).min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(least == np.inf, -np.inf, least)


def largest_before(step: str, inner: Callable[..., Array]) -> Backward:
    """Make a backward pass that subtracts the largest of what goes into a step, not of what comes out at the end."""

    def computed(**arguments: Any) -> AttentionGradients:
        found: list[Array] = []

        def noticed(scores: Array, *rest: Any) -> Array:
            found.append(scores)
            return inner(scores, *rest)

        def largest(terms: Array) -> Array:
            scores = found[-1]
            keys = scores.shape[-1]
            of_keys = np.where(terms[..., :keys] == -np.inf, -np.inf, scores)
            return largest_logit(np.concatenate([of_keys, terms[..., keys:]], axis=-1))

        return replaying(**{step: noticed, "largest_logit": largest})(**arguments)

    return computed


def in_half(steps: Callable[[Any], dict[str, Any]], make: Callable[..., Backward] = backward_with) -> Backward:
    """Do some steps of a backward pass, or of what it replays, in the dtype of the inputs if that is half precision."""

    def computed(**arguments: Any) -> AttentionGradients:
        dtype = result_dtype(arguments["query"])
        if dtype.itemsize > _HALF:
            return scaled_dot_product_attention_backward(**arguments)
        return make(**steps(dtype))(**arguments)

    return computed


def stored(array: Array, dtype: Any) -> Array:
    """Store in a dtype, and read again."""
    return round_to(dtype, array).astype(array.dtype)


def added(terms: Array, dtype: Any) -> Array:
    """Add along the last axis, one after the other."""
    ones = np.ones((terms.shape[-1], 1))
    return added_in_dtype(terms[..., np.newaxis], ones, dtype)[..., 0, 0]


def sinks_added(dtype: Any) -> dict[str, Any]:
    """Add what the queries give to a sink."""

    def gradient(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
        if sinks is None:
            return None
        of_each = -np.where(answered, np.exp(sinks[:, np.newaxis] - logsumexp) * subtracted, 0)
        return added(np.moveaxis(of_each, 0, 1).reshape(len(sinks), -1), dtype)

    return {"gradient_of_sinks": gradient}


def masks_added(dtype: Any) -> dict[str, Any]:
    """Add what the queries give to the row of a mask that they share."""

    def gradient(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
        if mask is None or np.shape(mask)[-2] != 1:
            return sum_to_mask(grad_logits, mask)
        of_rows = added(np.swapaxes(grad_logits, -1, -2), dtype)
        return sum_to_mask(of_rows[..., np.newaxis, :], mask)

    return {"sum_to_mask": gradient}


FUNCTIONS: Mapping[str, Making] = {
    "sdpa_backward.gradient_read_as_contiguous": reading(one_part_after_the_other, "grad_output"),
    "sdpa_backward.gradient_of_sum_assumed": reading(
        lambda array: np.full_like(array, array.flat[0]) if array.size and array.strides[-1] == 0 else array,
        "grad_output",
    ),
    "sdpa_backward.strides_ignored": reading(as_it_lies_in_memory, "query", "key", "value"),
    "sdpa_backward.output_strides_ignored": reading(as_it_lies_in_memory, "output"),
    "sdpa_backward.mask_strides_ignored": reading(as_it_lies_in_memory, "mask"),
    "sdpa_backward.gaps_ignored": reading(without_gaps, *TENSORS),
    "sdpa_backward.gaps_between_tokens": reading(tokens_close_together, *TENSORS),
    "sdpa_backward.direction_ignored": reading(read_forwards, *TENSORS),
    "sdpa_backward.query_scaled_in_place": query_scaled,
    "sdpa_backward.gradient_overwritten": overwriting(
        scaled_dot_product_attention_backward, "grad_output", gradient_written
    ),
    "sdpa_backward.output_overwritten": output_as_workspace,
    "sdpa_backward.logsumexp_overwritten": logsumexp_as_workspace,
    "sdpa_backward.gradients_accumulated": Made(
        scaled_dot_product_attention_backward, begin=lambda: Accumulating("grad_key", "grad_value")
    ),
    "sdpa_backward.query_gradient_accumulated": Made(
        scaled_dot_product_attention_backward, begin=lambda: Accumulating("grad_query")
    ),
    "sdpa_backward.gradient_remembered": remembered("grad_output"),
    "sdpa_backward.scale_remembered": remembered("scale"),
    "sdpa_backward.mask_remembered": remembered("mask"),
    "sdpa_backward.values_in_float32": in_dtype(np.float32, "grad_value"),
    "sdpa_backward.gradients_in_float64": in_dtype(np.float64, "grad_query", "grad_key", "grad_value"),
    "sdpa_backward.computed_in_float32": in_single_precision(scaled_dot_product_attention_backward),
    "sdpa_backward.summed_in_half_precision": in_half(
        lambda dtype: {"sum_for_keys": lambda scores, queries, _attendable: added_in_dtype(scores, queries, dtype)}
    ),
    "sdpa_backward.largest_before_scale": on_calls(
        scaled_dot_product_attention_backward,
        lambda arguments: (arguments.get("scale") or 0) < 0,
        replaying(largest_logit=smallest_logit),
    ),
    "sdpa_backward.largest_before_cap": largest_before("cap_scores", cap_scores),
    "sdpa_backward.largest_before_bias": largest_before("add_distance_bias", add_distance_bias),
    "sdpa_backward.weights_stored_in_half_precision": in_half(
        lambda dtype: {"score_every_key": lambda grad_output, value: stored(score_every_key(grad_output, value), dtype)}
    ),
    "sdpa_backward.sums_scaled_too_late": in_half(
        lambda dtype: {
            "sum_for_queries": lambda *given: stored(sum_for_queries(*given), dtype),
            "sum_for_keys": lambda *given: stored(sum_for_keys(*given), dtype),
        }
    ),
    "sdpa_backward.queries_summed_in_half_precision": in_half(
        lambda dtype: {"sum_for_queries": lambda scores, key, _: added_in_dtype(scores.swapaxes(-1, -2), key, dtype)}
    ),
    "sdpa_backward.sinks_summed_in_half_precision": in_half(sinks_added),
    "sdpa_backward.masks_summed_in_half_precision": in_half(masks_added),
    "sdpa_backward.softmax_summed_in_half_precision": in_half(
        lambda dtype: {"sum_over_keys": lambda exponentials: added(exponentials, dtype)[..., np.newaxis]}, replaying
    ),
    "sdpa_backward.through_float16": backward_with(widen=through_float16),
}
