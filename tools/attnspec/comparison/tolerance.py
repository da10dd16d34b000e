"""The tolerance of every output of every operation, element by element.

There is one model and no hand-set number: a bound that runs through the phases of the operation, from the unit
roundoffs of the dtype and the case's own values.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.comparison.attention_tolerance import AttentionTolerance, attention_tolerance
from attnspec.comparison.estimates import (
    Estimate,
    exactly,
    exponent_error,
    linear,
    matrix_product,
    settled,
    share_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.comparison.precision import Precision


class Tolerance:
    """Values and tolerances of the outputs of one case, each computed when it is asked for.

    Parameters
    ----------
    estimates
        Output name to what gives its float64 value and, as the error, its tolerance.
    ungraded
        Output name to what gives the elements whose tolerance says nothing.
    dead
        Output name to the elements that come from a query without any key; empty where there are none.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        ungraded: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        dead: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> None:
        self._estimates = estimates
        self._ungraded = ungraded or {}
        self._known: dict[str, Estimate] = {}
        self.dead: Mapping[str, NDArray[np.bool_]] = dead or {}

    def of(self, output: str, run: int = 0) -> Estimate:
        """Return value and tolerance of one output in one of the runs; every tolerance is finite."""
        estimate = self._known.get(output)
        if estimate is None:
            with np.errstate(all="ignore"):
                estimate = self._known[output] = self._estimates[output]()
        return Estimate(estimate.value, _of_run(estimate.error, run, estimate.value.ndim))

    def ungraded(self, output: str, run: int = 0) -> NDArray[np.bool_] | None:
        """Return which elements of an output have a tolerance that says nothing in a run, or None for none."""
        if output not in self._ungraded:
            return None
        with np.errstate(all="ignore"):
            return _of_run(self._ungraded[output](), run, self.of(output).value.ndim)


def _of_run(errors: NDArray[Any], run: int, rank: int) -> NDArray[Any]:
    """Return what belongs to one run; errors of the tensor's own rank are shared by all."""
    return errors if errors.ndim == rank else errors[run]


def tolerance(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    precision: Precision,
    *,
    uniform_dead_rows: bool = False,
) -> Tolerance:
    """Return values and tolerances of the outputs of a case.

    Parameters
    ----------
    operation
        Name of the operation; not ``glorot_normal``, which is graded by properties.
    inputs
        The inputs as the run sees them (rounded to its dtype), in float64 or bool.
    attributes
        The attributes that the case states.
    precision
        Unit roundoffs of the run, or those of several runs, stacked.
    uniform_dead_rows
        Whether a query without any key takes the mean of all values instead of 0.
    """
    if uniform_dead_rows and operation in _WITH_DEAD_ROWS:
        attributes = {**attributes, "uniform_dead_rows": True}
    with np.errstate(all="ignore"):
        return _BY_OPERATION[operation](inputs, attributes, precision)


def _given(**estimates: Estimate) -> dict[str, Callable[[], Estimate]]:
    """Return estimates that are known already in the form in which they are asked for."""
    return {name: partial(_identity, estimate) for name, estimate in estimates.items()}


def _identity(estimate: Estimate) -> Estimate:
    return estimate


def _softmax(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    x = exactly(inputs["x"]).value
    axis = attributes.get("axis", -1)
    rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    distance = np.max(rows, axis=-1, keepdims=True, initial=-np.inf) - rows
    exponentials = np.exp(-distance)
    shares = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    # x itself may be scaled before the maximum is taken, as where exp is computed by exp2.
    drift = precision.at_rank(rows.ndim).accumulator * np.abs(rows)
    relative = exponent_error(distance, drift, precision)
    error = share_error(shares, relative, precision)
    if axis is None:
        shares, error = shares.reshape(x.shape), error.reshape(*error.shape[:-2], *x.shape)
    else:
        place = axis if axis < 0 else axis - x.ndim
        shares, error = np.moveaxis(shares, -1, place), np.moveaxis(error, -1, place)
    return Tolerance(_given(output=Estimate(shares, error)))


def _causal_mask(_: Mapping[str, Any], attributes: Mapping[str, Any], __: Precision) -> Tolerance:
    rows: int = attributes["query_length"]
    length: int | None = attributes.get("key_length")
    columns = rows if length is None else length
    allowed = np.arange(columns) <= np.arange(rows)[:, None] + attributes.get("offset", 0)
    value = np.where(allowed, 0.0, -np.inf) if attributes.get("additive") else allowed.astype(np.float64)
    return Tolerance(_given(output=Estimate(value, np.zeros(value.shape))))


def _split_heads(inputs: Mapping[str, Any], attributes: Mapping[str, Any], _: Precision) -> Tolerance:
    return Tolerance(_given(output=_split(exactly(inputs["x"]), attributes["num_heads"])))


def _combine_heads(inputs: Mapping[str, Any], _: Mapping[str, Any], __: Precision) -> Tolerance:
    return Tolerance(_given(output=_combine(exactly(inputs["x"]))))


def _attention(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    result = attention_tolerance(
        exactly(inputs["query"]),
        exactly(inputs["key"]),
        exactly(inputs["value"]),
        precision,
        mask=inputs.get("mask"),
        **attributes,
    )
    names = ("output", "weights", "logsumexp", "scores", "logits")
    dead: dict[str, NDArray[np.bool_]] = {}
    if result.dead.any():
        dead["output"] = np.broadcast_to(result.dead[..., None], result.output.value.shape)
        dead["weights"] = np.broadcast_to(result.dead[..., None], result.allowed.shape)
        dead["logsumexp"] = result.dead
    return Tolerance(
        {name: partial(getattr, result, name) for name in names}, {"output": lambda: result.ungraded}, dead
    )


def _context_vector(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    states = exactly(inputs["encoder_states"][None, None])
    result = attention_tolerance(
        exactly(inputs["decoder_state"][None, None, None]), states, states, precision, **attributes
    )
    return Tolerance(
        {
            "context": lambda: _without_axes(result.output),
            "weights": lambda: _without_axes(result.weights),
            "scores": lambda: _without_axes(result.scores),
            "raw_scores": lambda: _raw_scores(inputs, precision),
        },
        {"context": lambda: result.ungraded[..., 0, 0, 0, :]},
    )


def _raw_scores(inputs: Mapping[str, Any], precision: Precision) -> Estimate:
    product = matrix_product(exactly(inputs["encoder_states"]), exactly(inputs["decoder_state"][:, None]), precision)
    raw = settled(product, precision)
    return Estimate(raw.value[:, 0], raw.error[..., 0])


def _without_axes(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value[0, 0, 0], estimate.error[..., 0, 0, 0, :])


def _single_head(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    x = exactly(inputs["x"])
    projected = {name: linear(x, exactly(inputs[f"w_{name}"]), None, precision) for name in ("query", "key", "value")}
    query, key, value = (_as_one_head(entry) for entry in projected.values())
    result = attention_tolerance(
        query,
        key,
        value,
        precision,
        **attributes,
    )
    estimates: dict[str, Callable[[], Estimate]] = {
        "output": lambda: _of_one_head(result.output),
        "weights": lambda: _of_one_head(result.weights),
        "scores": lambda: _of_one_head(result.scores),
        **_given(**{name: settled(entry, precision) for name, entry in projected.items()}),
    }
    if "w_output" not in inputs:
        return Tolerance(estimates, {"output": lambda: result.ungraded[..., 0, 0, :, :]})
    weight = exactly(inputs["w_output"])
    estimates["output"] = lambda: _projected_output(_of_one_head(result.output), weight, None, precision)
    return Tolerance(estimates)


def _of_one_head(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value[0, 0], estimate.error[..., 0, 0, :, :])


def _as_one_head(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value[None, None], estimate.error[..., None, None, :, :], estimate.is_exact)


def _multi_head(inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision) -> Tolerance:
    settings = dict(attributes)
    heads = settings.pop("num_heads")
    query, key, value = (
        _split(
            linear(exactly(inputs[name]), exactly(inputs[f"w_{name}"]), _bias(inputs, f"b_{name}"), precision),
            heads,
        )
        for name in ("query", "key", "value")
    )
    result: AttentionTolerance = attention_tolerance(query, key, value, precision, mask=inputs.get("mask"), **settings)
    weight, bias = exactly(inputs["w_output"]), _bias(inputs, "b_output")
    dead: dict[str, NDArray[np.bool_]] = {}
    if result.dead.any():
        rows = np.any(result.dead, axis=1)
        dead["output"] = np.broadcast_to(rows[..., None], (*rows.shape, weight.value.shape[-1]))
        dead["weights"] = np.broadcast_to(result.dead[..., None], result.allowed.shape)
    return Tolerance(
        {
            "output": lambda: _projected_output(_combine(result.output), weight, bias, precision),
            "weights": lambda: result.weights,
        },
        dead=dead,
    )


def _bias(inputs: Mapping[str, Any], name: str) -> Estimate | None:
    return exactly(inputs[name]) if name in inputs else None


def _projected_output(attended: Estimate, weight: Estimate, bias: Estimate | None, precision: Precision) -> Estimate:
    """Return the output projection: the tolerance before it is carried over, its own error is doubled."""
    own = linear(exactly(attended.value), weight, bias, precision)
    carried = np.sqrt(attended.error**2 @ weight.value**2)
    return Estimate(own.value, carried + settled(own, precision).error)


def _split(estimate: Estimate, heads: int) -> Estimate:
    def split(x: NDArray[Any]) -> NDArray[Any]:
        return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).swapaxes(-2, -3)

    return Estimate(split(estimate.value), split(estimate.error))


def _combine(estimate: Estimate) -> Estimate:
    def combine(x: NDArray[Any]) -> NDArray[Any]:
        return x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])

    return Estimate(combine(estimate.value), combine(estimate.error))


_BY_OPERATION: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], Precision], Tolerance]] = {
    "softmax": _softmax,
    "causal_mask": _causal_mask,
    "split_heads": _split_heads,
    "combine_heads": _combine_heads,
    "scaled_dot_product_attention": _attention,
    "single_head_attention": _single_head,
    "multi_head_attention": _multi_head,
    "context_vector": _context_vector,
}

_WITH_DEAD_ROWS = ("scaled_dot_product_attention", "multi_head_attention")
