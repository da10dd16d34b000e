"""Conventions that an implementation of attention declares instead of the normative ones: inputs and expected outputs.

Golden values follow the normative conventions. Those of the others are computed here from the inputs, and never stored.
A logarithm is handed over as its forward pass gives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.attention.steps.attendance import attendance
from attnspec.families.record import Expected, Within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Tolerance
    from attnspec.families.attention.tolerance.backward_bound import BackwardBound
    from attnspec.families.attention.tolerance.error_bound import AttentionBound
    from attnspec.families.attention.tolerance.merge_tolerance import MergeBound
    from attnspec.families.record import Arrays, Marks


_OPEN = "scores_open"
"""The choice that leaves a row open which has NaN or infinity among its scores or logarithms."""

_BACKWARD = "scaled_dot_product_attention_backward"
_OF_PARTS = ("logsumexp_a", "logsumexp_b")
"""The logarithms of two parts that are merged."""


def handed(operation: str, inputs: Arrays, attributes: Mapping[str, Any], conventions: Mapping[str, str]) -> Arrays:
    """Return the inputs under declared conventions, from those of the case."""
    changed = {name: declared_logarithms(inputs[name], conventions) for name in _OF_PARTS if name in inputs}
    if operation == _BACKWARD and "logsumexp" in inputs:
        raised = inputs["logsumexp"] + _bias_left_by_column(inputs, attributes, conventions)
        changed["logsumexp"] = declared_logarithms(raised, conventions)
    if operation == _BACKWARD and "grad_logsumexp" in inputs and conventions["logsumexp_base"] == "2":
        # The loss is the same: a logarithm that is 1/ln 2 times as large moves it ln 2 times as much.
        changed["grad_logsumexp"] = inputs["grad_logsumexp"] * math.log(2)
    # Inputs that are generated are drawn where they are read: what does not change is not read here.
    return {**inputs, **changed} if changed else inputs


def _bias_left_by_column(
    inputs: Arrays, attributes: Mapping[str, Any], conventions: Mapping[str, str]
) -> NDArray[Any] | float:
    """Return what an ALiBi bias by column leaves in each row (B or 1, Hq, Sq)."""
    slopes = inputs.get("alibi_slopes")
    if slopes is None or conventions["alibi_bias"] != "column" or not attributes.get("is_causal"):
        return 0.0
    shape = (*inputs["query"].shape[:3], inputs["key"].shape[2])
    alignment = attributes.get("causal_alignment", "top_left")
    placed = attendance(shape, 0, inputs, is_causal=True, causal_alignment=alignment)
    return (slopes.reshape(-1, 1, 1) * placed.position)[..., 0]


def expected(outputs: Arrays, conventions: Mapping[str, str], bound: Tolerance, run: int) -> Expected:
    """Return the expected outputs under declared conventions, from the normative ones; `run` indexes the tolerances."""
    # Imported here, for most runs need none of them: their tolerances are stored.
    from attnspec.families.attention.tolerance.error_bound import AttentionBound

    if isinstance(bound, AttentionBound):
        return expected_of_attention(outputs, conventions, bound, run)
    from attnspec.families.attention.tolerance.backward_bound import BackwardBound
    from attnspec.families.attention.tolerance.merge_tolerance import MergeBound

    if isinstance(bound, BackwardBound):
        return expected_gradients(outputs, conventions, bound, run)
    if isinstance(bound, MergeBound):
        return expected_of_merged(outputs, conventions, bound, run)
    return Expected(outputs, {}, ())


def computed_under(outputs: Arrays, conventions: Mapping[str, str], bound: Tolerance) -> Arrays:
    """Return the outputs of a mistake (float64) under declared conventions, from those under the normative ones."""
    from attnspec.families.attention.tolerance.error_bound import AttentionBound

    found = dict(outputs)
    shift = bound.shift if isinstance(bound, AttentionBound) else None
    if shift is not None:
        if "logits" in found and found["logits"].shape[:-1] == shift.shape[:-1]:
            found["logits"] = found["logits"] + shift
        if "logsumexp" in found and found["logsumexp"].shape == shift.shape[:-1]:
            found["logsumexp"] = found["logsumexp"] + shift[..., 0]
    if conventions["logsumexp_base"] == "2" and "logsumexp" in found:
        found["logsumexp"] = found["logsumexp"] * math.log2(math.e)
    return found


def without_keys(operation: str, outputs: Arrays) -> Marks:
    """Return the elements of rows that weigh no key at all, by what was computed: a mistake may leave other keys."""
    if operation == "merge_states":
        return {"logsumexp": np.isneginf(outputs["logsumexp"])} if "logsumexp" in outputs else {}
    weights, logsumexp = outputs.get("weights"), outputs.get("logsumexp")
    if weights is None or weights.ndim < 2:
        return {}
    empty = np.logical_not(weights.any(axis=-1))
    if not empty.any():
        return {}
    found = {"weights": np.broadcast_to(empty[..., np.newaxis], weights.shape)}
    for name in ("output", "output_latent"):
        if name in outputs and outputs[name].shape[:-1] == empty.shape:
            found[name] = np.broadcast_to(empty[..., np.newaxis], outputs[name].shape)
    output = None if "output" in found else outputs.get("output")
    if output is not None and output.ndim == empty.ndim and output.shape[:2] == (len(empty), empty.shape[-1]):
        # The heads of a token are combined.
        of_token: NDArray[np.bool_] = np.any(empty, axis=1)
        found["output"] = np.broadcast_to(of_token[..., np.newaxis], output.shape)
    if logsumexp is not None and logsumexp.shape == empty.shape:
        found["logsumexp"] = empty
    return found


@dataclass
class _Declared:
    """Expected outputs, which begin as the normative ones, elements left open, and declarations that had an effect."""

    outputs: dict[str, NDArray[Any]]
    ungraded: dict[str, NDArray[np.bool_]] = field(default_factory=dict[str, "NDArray[np.bool_]"])
    under: list[str] = field(default_factory=list[str])
    within: dict[str, Within] = field(default_factory=dict[str, Within])

    def leave_open(self, elements: Marks, alternative: str | None) -> None:
        """Leave out elements of outputs that are expected, and name the alternative where there are any."""
        for output, found in elements.items():
            if output in self.outputs and found.any():
                self.ungraded[output] = self.ungraded[output] | found if output in self.ungraded else found
                if alternative is not None:
                    self.graded_under(alternative)

    def graded_under(self, alternative: str) -> None:
        """Name an alternative that had an effect, once."""
        if alternative not in self.under:
            self.under.append(alternative)


def expected_of_attention(outputs: Arrays, conventions: Mapping[str, str], bound: AttentionBound, run: int) -> Expected:
    """Return the expected outputs of a forward pass under declared conventions, from the normative ones."""
    declared = _Declared(dict(outputs))
    if bound.fully_masked:
        _replace_rows_without_keys(declared, conventions, bound)
    if bound.shift is not None:
        # The softmax does not see what an ALiBi bias by column leaves in a row.
        for output, raised in (("logits", bound.shift), ("logsumexp", bound.shift[..., 0])):
            if output in outputs:
                declared.outputs[output] = declared.outputs[output] + raised
                declared.graded_under("alibi_bias=column")
    if conventions["logsumexp_base"] == "2" and "logsumexp" in outputs:
        declared.outputs["logsumexp"] = declared.outputs["logsumexp"] * math.log2(math.e)
        declared.graded_under("logsumexp_base=2")
    _leave_open_what_is_not_finite(declared, conventions, bound)
    if conventions["half_precision_overflow"] == "open":
        declared.leave_open(bound.overflowed(run), "half_precision_overflow=open")
    if bound.quantized is not None:
        if conventions["dequantized"] != "kept":
            declared.graded_under(f"dequantized={conventions['dequantized']}")
            declared.leave_open(bound.beyond_dequantized(), None)
        if bound.quantized.weights is not None:
            declared.graded_under(f"quantized_weights={conventions['quantized_weights']}")
    return Expected(declared.outputs, declared.ungraded, tuple(declared.under), declared.within)


def _leave_open_what_is_not_finite(declared: _Declared, conventions: Mapping[str, str], bound: AttentionBound) -> None:
    """Leave out elements that NaN and infinity may enter, by an excluded key or value, or by a score."""
    if conventions["masked_nonfinite"] == "propagates":
        declared.leave_open(bound.reached(), "masked_nonfinite=propagates")
    elif conventions["fully_masked_row"] in ("uniform", "filled", "weighted"):
        # A mean over all values takes in the excluded ones too, whether they propagate elsewhere or not.
        reached = bound.reached().items()
        declared.leave_open({name: found & bound.fully_masked.get(name, np.False_) for name, found in reached}, None)
    if conventions["nonfinite_input"] == "compensated":
        declared.leave_open(bound.compensated(), "nonfinite_input=compensated")
    elif conventions["nonfinite_input"] == _OPEN:
        declared.leave_open(bound.open_scores(), f"nonfinite_input={_OPEN}")


def _replace_rows_without_keys(declared: _Declared, conventions: Mapping[str, str], bound: AttentionBound) -> None:
    """Replace expected rows of queries without any key; their logsumexp is graded only where it is declared."""
    name = "no_keys" if bound.has_no_keys else "fully_masked_row"
    row, empty = conventions[name], conventions["empty_logsumexp"]
    is_other = row in ("nan", "uniform", "filled")
    if row == "weighted":
        means = bound.means()
        declared.within = {output: Within(bound.fully_masked[output], *ends) for output, ends in means.items()}
        declared.leave_open({each: found for each, found in bound.fully_masked.items() if each not in means}, None)
        declared.graded_under(f"{name}={row}")
    for output, fully_masked in bound.fully_masked.items():
        if output not in declared.outputs:
            continue
        if output != "logsumexp":
            if is_other:
                other = np.nan if row == "nan" else bound.of(output).value
                if row == "filled":
                    other = np.where(bound.without_mean[output], np.nan, other)
                declared.outputs[output] = np.where(fully_masked, other, declared.outputs[output])
                declared.graded_under(f"{name}={row}")
        elif empty == "plus_infinity":
            declared.outputs[output] = np.where(fully_masked, np.inf, declared.outputs[output])
            declared.graded_under(f"empty_logsumexp={empty}")
        elif is_other:
            declared.leave_open({output: fully_masked}, None)


def expected_gradients(outputs: Arrays, conventions: Mapping[str, str], bound: BackwardBound, run: int) -> Expected:
    """Return the expected gradients under declared conventions, from normative ones; `run` indexes the tolerances."""
    declared = _Declared(dict(outputs))
    name = "no_keys" if bound.has_no_keys else "fully_masked_row"
    choice = conventions[name]
    if bound.queries_without_keys is not None and choice in ("nan", "uniform", "filled", "weighted"):
        open_elements = bound.affected_elements(bound.queries_without_keys)
        if choice == "uniform":
            # The weights are 1/n; whether their own gradients go on depends on how the row was masked.
            del open_elements["grad_value"]
            open_elements |= bound.values_of_rows_without_keys()
            if "grad_value" in outputs:
                # NaN that comes from queries with keys stays.
                reached = bound.by_convention["grad_value"] & ~np.isnan(outputs["grad_value"])
                declared.outputs["grad_value"] = np.where(reached, bound.of("grad_value").value, outputs["grad_value"])
        declared.leave_open(open_elements, f"{name}={choice}")
    if conventions["masked_nonfinite"] == "propagates":
        declared.leave_open(bound.reached(), "masked_nonfinite=propagates")
    if conventions["nonfinite_input"] == _OPEN:
        declared.leave_open(bound.open_scores(), f"nonfinite_input={_OPEN}")
    if conventions["half_precision_overflow"] == "open":
        declared.leave_open(bound.overflowed(run), "half_precision_overflow=open")
    return Expected(declared.outputs, declared.ungraded, tuple(declared.under))


def expected_of_merged(outputs: Arrays, conventions: Mapping[str, str], bound: MergeBound, run: int) -> Expected:
    """Return the expected outputs of two merged parts under declared conventions, as `Family` has it."""
    declared = dict(outputs)
    under: list[str] = []
    if "logsumexp" in declared:
        declared["logsumexp"] = declared_logarithms(declared["logsumexp"], conventions)
        if conventions["logsumexp_base"] == "2":
            under.append("logsumexp_base=2")
        if conventions["empty_logsumexp"] == "plus_infinity" and bound.without_keys.any():
            under.append("empty_logsumexp=plus_infinity")
    left_open = {"output": bound.drowned(run)}
    if conventions["masked_nonfinite"] == "propagates" and bound.poisoned.any():
        left_open["output"] = left_open["output"] | bound.poisoned
        under.append("masked_nonfinite=propagates")
    if conventions["nonfinite_input"] == _OPEN and bound.open_rows.any():
        left_open["output"] = left_open["output"] | bound.open_rows[..., np.newaxis]
        left_open["logsumexp"] = bound.open_rows
        under.append(f"nonfinite_input={_OPEN}")
    shown = {name: elements for name, elements in left_open.items() if name in declared and elements.any()}
    return Expected(declared, shown, tuple(under))


def declared_logarithms(logarithms: NDArray[Any], conventions: Mapping[str, str]) -> NDArray[Any]:
    """Return natural logarithms to the declared base, and with the declared sign where there are no keys."""
    if conventions["logsumexp_base"] == "2":
        logarithms = logarithms * math.log2(math.e)
    if conventions["empty_logsumexp"] == "plus_infinity":
        logarithms = np.where(logarithms == -np.inf, np.inf, logarithms)
    return logarithms
