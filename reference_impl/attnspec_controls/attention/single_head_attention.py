"""Other ways to single-head attention: the orders of its last products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision
from attnspec_reference.attention.single_head_attention import single_head_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.patches import Computation
    from attnspec_reference.precision import Array

OPERATION = "single_head_attention"


def einsum(left: Array, right: Array) -> Array:
    """Multiply two matrices by an einsum that writes both indices of each."""
    return np.einsum("nm,mg->ng", left, right)


@in_working_precision
def plain(*, scale: float | None = None, w_output: Array | None = None, **arguments: Any) -> Mapping[str, Any]:
    """Write each product of the formula as a dot, with the division instead of the scale."""
    query, key, value = (np.dot(arguments["x"], arguments[f"w_{name}"]) for name in ("query", "key", "value"))
    products = np.dot(query, key.T)
    scores = products / query.dtype.type(np.sqrt(query.shape[-1])) if scale is None else products * scale
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    mixed = np.dot(weights, value)
    return {
        "output": mixed if w_output is None else np.dot(mixed, w_output),
        "weights": weights,
        "scores": scores,
        "query": query,
        "key": key,
        "value": value,
    }


def fused(transform: Callable[[Array, Array], Array], mix: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention that multiplies the value and the output matrix first, and so never forms the values.

    Parameters
    ----------
    transform
        Multiplies the tokens by the fused matrix.
    mix
        Multiplies the weights by the transformed tokens.
    """

    def attend(**arguments: Any) -> Mapping[str, Any]:
        steps = single_head_attention(**arguments)
        matrix = arguments["w_value"]
        if arguments.get("w_output") is not None:
            matrix = np.dot(matrix, arguments["w_output"])
        return {
            "output": mix(steps.weights, transform(arguments["x"], matrix)),
            "weights": steps.weights,
            "scores": steps.scores,
            "query": steps.query,
            "key": steps.key,
        }

    return in_working_precision(attend)


@in_working_precision
def mixed_first(**arguments: Any) -> Mapping[str, Any]:
    """Mix the tokens themselves, and project the mixture."""
    steps = single_head_attention(**arguments)
    output = (steps.weights @ arguments["x"]) @ arguments["w_value"]
    if arguments.get("w_output") is not None:
        output = output @ arguments["w_output"]
    return {**steps._asdict(), "output": output}


CONTROLS: tuple[Control, ...] = (
    Control(
        id="single_head.plain",
        operation=OPERATION,
        sentence="Each product is a dot, and the scores are divided by the root of d_k.",
        function=plain,
    ),
    Control(
        id="single_head.fused_dot_matmul",
        operation=OPERATION,
        sentence="w_value and w_output are multiplied first; then dot, then matmul.",
        function=fused(np.dot, np.matmul),
    ),
    Control(
        id="single_head.fused_einsum_einsum",
        operation=OPERATION,
        sentence="w_value and w_output are multiplied first; then einsum twice.",
        function=fused(einsum, einsum),
    ),
    Control(
        id="single_head.fused_matmul_matmul",
        operation=OPERATION,
        sentence="w_value and w_output are multiplied first; then matmul twice.",
        function=fused(np.matmul, np.matmul),
    ),
    Control(
        id="single_head.fused_einsum_dot",
        operation=OPERATION,
        sentence="w_value and w_output are multiplied first; then einsum, then dot.",
        function=fused(einsum, np.dot),
    ),
    Control(
        id="single_head.mixed_first",
        operation=OPERATION,
        sentence="The tokens are mixed first, and the mixture is projected.",
        function=mixed_first,
    ),
)
