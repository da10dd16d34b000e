"""What goes wrong around the numbers of a backward pass: inputs edited, calls remembered, memory misread, dtypes."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import mistake
from attnspec_mistakes.departures import altered, by_name, departure, is_float_array
from attnspec_mistakes.memory import (
    as_it_lies_in_memory,
    overwriting,
    read_forwards,
    remembering,
    tokens_close_together,
    told_apart,
    without_gaps,
)
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention_backward import (
    AttentionGradients,
    scaled_dot_product_attention_backward,
)
from attnspec_reference.precision import result_dtype, round_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_mistakes.departures import Outputs
    from attnspec_reference.precision import Array, Booleans

TENSORS = ("grad_output", "query", "key", "value", "mask")


def one_part_after_the_other(array: Array) -> Array:
    """Read an array from the place where it begins, and find zeros behind what it holds in memory."""
    held = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
    memory = np.zeros(array.size, dtype=array.dtype)
    memory[: held.size] = held.ravel(order="K")
    return memory.reshape(array.shape)


def one_number_for_all(array: Array) -> Array:
    """Take what is one number along its last axis for one number altogether."""
    return np.full_like(array, array.flat[0]) if array.size and array.strides[-1] == 0 else array


def scaled_in_place(**arguments: Any) -> AttentionGradients:
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
        place = tuple(told_apart(found[name]) for name in self.names)
        before = self.before.get(place, {})
        # Another call alone adds: who asks the same again is not told apart from who asks for the first time.
        outputs = {name: array + before[name] if name in before else array for name, array in found.items()}
        self.before[place] = {name: np.array(outputs[name]) for name in self.names}
        return outputs


def remembered(name: str) -> dict[str, Any]:
    """Say how a mistake begins that remembers an argument for all calls with inputs of the same shapes."""
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


def summed_in_half(**arguments: Any) -> AttentionGradients:
    """Add what the queries give to keys and values in half precision."""
    dtype = result_dtype(arguments["query"])

    def sums(of_scores: Array, of_queries: Array, _attendable: Booleans) -> Array:
        return added_in_dtype(of_scores, of_queries, dtype)

    if dtype.itemsize > np.dtype(np.float16).itemsize:
        return scaled_dot_product_attention_backward(**arguments)
    return departure(scaled_dot_product_attention_backward, sum_for_keys=sums)(**arguments)


def in_float32(**arguments: Any) -> Outputs:
    """Compute float64 in float32."""
    dtype = result_dtype(arguments["query"])
    if dtype != np.float64:
        return scaled_dot_product_attention_backward(**arguments)
    narrowed = {name: value.astype(np.float32) if is_float_array(value) else value for name, value in arguments.items()}
    return {
        name: array.astype(dtype) for name, array in by_name(scaled_dot_product_attention_backward(**narrowed)).items()
    }


def reading(read: Callable[[Array], Array], *names: str) -> Backward:
    """Make a backward pass that misreads some of its inputs."""
    return altered(scaled_dot_product_attention_backward, **dict.fromkeys(names, read))


MISTAKES = (
    mistake(
        id="sdpa_backward.gradient_read_as_contiguous",
        clause="sdpa_backward.memory_layout",
        sentence="The gradient of the output was read number after number, though one part stands for many.",
        engineer="dO is assumed to be contiguous; the gradient of a sum is expanded with stride 0.",
        remedy="Use the strides of the gradient, or make a contiguous copy first.",
        function=reading(one_part_after_the_other, "grad_output"),
        source="https://github.com/Dao-AILab/flash-attention/issues/355",
    ),
    mistake(
        id="sdpa_backward.gradient_of_sum_assumed",
        clause="sdpa_backward.memory_layout",
        sentence="A gradient of the output that repeats itself along the features was taken for one number for all.",
        engineer="dO whose last stride is 0 is read as the expanded gradient of a sum.",
        remedy="Use all strides of the gradient, or make a contiguous copy first.",
        function=reading(one_number_for_all, "grad_output"),
    ),
    mistake(
        id="sdpa_backward.strides_ignored",
        clause="sdpa_backward.memory_layout",
        sentence="Query, key and value were read in the order in which they lie in memory.",
        engineer="The backward kernel assumes that saved Q, K and V are contiguous.",
        remedy="Use the strides, or make a contiguous copy first.",
        function=reading(as_it_lies_in_memory, "query", "key", "value"),
    ),
    mistake(
        id="sdpa_backward.output_strides_ignored",
        clause="sdpa_backward.memory_layout",
        sentence="The stored output was read in the order in which it lies in memory.",
        engineer="rowsum(dO * O) assumes that both lie in memory alike.",
        remedy="Use the strides of the output, or make a contiguous copy first.",
        function=reading(as_it_lies_in_memory, "output"),
    ),
    mistake(
        id="sdpa_backward.mask_strides_ignored",
        clause="sdpa_backward.memory_layout",
        sentence="The mask was read in the order in which it lies in memory.",
        engineer="The backward kernel assumes that the mask is contiguous.",
        remedy="Use the strides of the mask, or make a contiguous copy first.",
        function=reading(as_it_lies_in_memory, "mask"),
    ),
    mistake(
        id="sdpa_backward.gaps_ignored",
        clause="sdpa_backward.memory_layout",
        sentence="The numbers of a row were taken to lie side by side, and what lies between them was read.",
        engineer="The innermost stride is assumed to be 1 in the backward kernel.",
        remedy="Use the innermost stride, or make a contiguous copy first.",
        function=reading(without_gaps, *TENSORS),
    ),
    mistake(
        id="sdpa_backward.gaps_between_tokens",
        clause="sdpa_backward.memory_layout",
        sentence="Tokens whose heads lie side by side were read without the gaps between them.",
        engineer="The stride of tokens is computed from heads and width in the backward kernel.",
        remedy="Use the stride of tokens, or make a contiguous copy first.",
        function=reading(tokens_close_together, *TENSORS),
    ),
    mistake(
        id="sdpa_backward.direction_ignored",
        clause="sdpa_backward.memory_layout",
        sentence="Arrays that run backwards through memory were read forwards.",
        engineer="Strides are taken as unsigned, or by their absolute value, in the backward kernel.",
        remedy="Use signed strides, or make a contiguous copy first.",
        function=reading(read_forwards, *TENSORS),
    ),
    mistake(
        id="sdpa_backward.query_scaled_in_place",
        clause="sdpa_backward.inputs_unchanged",
        sentence="The scale was multiplied into the caller's query.",
        engineer="query *= scale works in place on the saved tensor.",
        remedy="Multiply into a new array: query * scale.",
        function=scaled_in_place,
    ),
    mistake(
        id="sdpa_backward.gradient_overwritten",
        clause="sdpa_backward.inputs_unchanged",
        sentence="The gradient of the output was overwritten.",
        engineer="dV reuses the buffer of dO.",
        remedy="Write the gradients into arrays of their own.",
        function=overwriting(scaled_dot_product_attention_backward, "grad_output", gradient_written),
    ),
    mistake(
        id="sdpa_backward.output_overwritten",
        clause="sdpa_backward.inputs_unchanged",
        sentence="The stored output was overwritten.",
        engineer="O is multiplied by dO in place on the way to D.",
        remedy="Multiply into a new array.",
        function=output_as_workspace,
    ),
    mistake(
        id="sdpa_backward.logsumexp_overwritten",
        clause="sdpa_backward.inputs_unchanged",
        sentence="The stored logsumexp was overwritten.",
        engineer="dlse is folded into the saved LSE in place.",
        remedy="Keep what is subtracted in an array of its own.",
        function=logsumexp_as_workspace,
    ),
    mistake(
        id="sdpa_backward.gradients_accumulated",
        clause="sdpa_backward.repeatable",
        sentence="The gradients of the call before were added to those of keys and values.",
        engineer="Atomic adds go to a cached dK/dV workspace that is not cleared.",
        remedy="Clear what is added to before each call.",
        function=scaled_dot_product_attention_backward,
        begin=lambda: Accumulating("grad_key", "grad_value"),
    ),
    mistake(
        id="sdpa_backward.query_gradient_accumulated",
        clause="sdpa_backward.repeatable",
        sentence="The gradient of the queries of the call before was added.",
        engineer="Atomic adds go to a cached dQ accumulator that is not cleared.",
        remedy="Clear what is added to before each call.",
        function=scaled_dot_product_attention_backward,
        begin=lambda: Accumulating("grad_query"),
    ),
    mistake(
        id="sdpa_backward.gradient_remembered",
        clause="sdpa_backward.repeatable",
        sentence="The gradient of the output of an earlier call with the same shapes was used again.",
        engineer="The buffer of dO is cached by shape and not written again.",
        remedy="Keep nothing between calls.",
        **remembered("grad_output"),
    ),
    mistake(
        id="sdpa_backward.scale_remembered",
        clause="sdpa_backward.repeatable",
        sentence="The scale of an earlier call with the same shapes was used again.",
        engineer="The key of the backward kernel's cache lacks the scale.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        **remembered("scale"),
    ),
    mistake(
        id="sdpa_backward.mask_remembered",
        clause="sdpa_backward.repeatable",
        sentence="The mask of an earlier call with the same shapes was used again.",
        engineer="The mask is baked into the cached backward kernel, whose key holds only its shape.",
        remedy="Let everything that a compiled kernel depends on be part of its key.",
        **remembered("mask"),
    ),
    mistake(
        id="sdpa_backward.values_in_float32",
        clause="sdpa_backward.precision.dtype",
        sentence="The gradient of the values came back in float32, whatever the dtype of the inputs.",
        engineer="The dV accumulator is returned without the cast.",
        remedy="Round the gradients to the dtype of the query.",
        function=in_dtype(np.float32, "grad_value"),
        shows_in=("float64", "float16", "bfloat16"),
    ),
    mistake(
        id="sdpa_backward.gradients_in_float64",
        clause="sdpa_backward.precision.dtype",
        sentence="The gradients came back in float64, whatever the dtype of the inputs.",
        engineer="Half and single precision inputs are promoted and not narrowed again.",
        remedy="Round the gradients to the dtype of the query.",
        function=in_dtype(np.float64, "grad_query", "grad_key", "grad_value"),
        shows_in=("float32", "float16", "bfloat16"),
    ),
    mistake(
        id="sdpa_backward.computed_in_float32",
        clause="sdpa_backward.recomputed",
        sentence="float64 was computed inside in float32.",
        engineer="The backward kernel casts double inputs to float.",
        remedy="Compute float64 in float64; or declare the convention accumulation=float32.",
        function=in_float32,
        shows_in=("float64",),
    ),
    mistake(
        id="sdpa_backward.summed_in_half_precision",
        clause="sdpa_backward.precision.accumulation",
        sentence="What the queries give to keys and values was summed in half precision.",
        engineer="dK and dV accumulate in the input dtype instead of fp32.",
        remedy="Keep the sums in float32, and round once at the end.",
        function=summed_in_half,
        shows_in=("float16", "bfloat16"),
    ),
)
"""In the order of the page."""
