"""The operations that the oracle evaluates, by name, and those that involve no attention."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_reference.oracle import OracleError
from attnspec_reference.oracle.attention import context_vector, scaled_dot_product_attention
from attnspec_reference.oracle.certification import only
from attnspec_reference.oracle.exact import exact_array
from attnspec_reference.oracle.logits import Scale, exact_logits
from attnspec_reference.oracle.projections import multi_head_attention, single_head_attention
from attnspec_reference.oracle.softmax import Softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_reference.oracle.attention import Outputs
    from attnspec_reference.oracle.certification import Elements


def softmax(*, x: NDArray[Any], axis: int | None = -1) -> Outputs:
    """Evaluate ``softmax`` (clauses ``softmax.*``): any shape, along an axis, or as a whole for None."""
    flat = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    rows = Softmax.over_every_key(exact_logits(exact_array(flat), Scale(Fraction(1))))

    def output(elements: Elements) -> NDArray[np.float64]:
        if elements is not None and axis is not None:
            indices = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, -1)
            elements = np.flatnonzero(np.isin(indices, elements)).tolist()
        weights = rows.weights("output", elements)
        return weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)

    return {"output": output}


def causal_mask(
    *, query_length: int, key_length: int | None = None, offset: int = 0, additive: bool = False
) -> Outputs:
    """Evaluate ``causal_mask`` (clauses ``causal_mask.*``): (query_length, key_length), bool or 0/-inf."""
    columns = query_length if key_length is None else key_length
    attended = np.tri(query_length, columns, offset, dtype=np.bool_)
    return {"output": lambda _: np.where(attended, 0.0, -np.inf) if additive else attended}


def split_heads(*, x: NDArray[Any], num_heads: int) -> Outputs:
    """Evaluate ``split_heads`` (clauses ``split_heads.*``): (B, S, H*E) to (B, H, S, E)."""
    batch, length, width = x.shape
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"The width {width} cannot be split into {num_heads} heads of equal width.")
    return {"output": lambda _: x.reshape(batch, length, num_heads, width // num_heads).transpose(0, 2, 1, 3)}


def combine_heads(*, x: NDArray[Any]) -> Outputs:
    """Evaluate ``combine_heads`` (clauses ``combine_heads.*``): (B, H, S, E) to (B, S, H*E)."""
    batch, heads, length, width = x.shape
    return {"output": lambda _: x.transpose(0, 2, 1, 3).reshape(batch, length, heads * width)}


_OPERATIONS: Mapping[str, Callable[..., Outputs]] = {
    function.__name__: function
    for function in (
        softmax,
        causal_mask,
        split_heads,
        combine_heads,
        scaled_dot_product_attention,
        single_head_attention,
        multi_head_attention,
        context_vector,
    )
}


def evaluate_operation(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    outputs: Collection[str] | None,
    positions: Mapping[str, Sequence[int]],
) -> dict[str, NDArray[Any]]:
    """Do the work of :func:`attnspec_reference.oracle.evaluate`, where everything is described."""
    if operation == "glorot_normal":
        raise ValueError(
            "glorot_normal gives random numbers; they are graded by their properties, not by golden values."
        )
    if operation not in _OPERATIONS:
        raise ValueError(f"{operation!r} is no operation of the oracle; it knows {', '.join(_OPERATIONS)}.")
    arrays = {name: _readable(array) for name, array in inputs.items()}
    try:
        recipes = _OPERATIONS[operation](**arrays, **attributes)
        for name in (*(outputs or ()), *positions):
            if name not in recipes:
                raise ValueError(f"{operation} has no output {name!r}; it has {', '.join(recipes)}.")
        return {
            name: _canonical(name, compute(positions.get(name)), positions.get(name))
            for name, compute in recipes.items()
            if outputs is None or name in outputs
        }
    except OracleError as error:
        raise OracleError(f"{operation}: {error}") from error


def _canonical(name: str, array: NDArray[Any], elements: Elements) -> NDArray[Any]:
    # Adding +0 turns -0 into +0 and leaves every other number, so that a zero has one form only.
    return array if array.dtype == np.bool_ else only(name, array + 0.0, elements)


def _readable(array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    return array if array.dtype.kind in "bi" else array.astype(np.float64)
