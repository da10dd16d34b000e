"""What is owed under conventions that an implementation of attention declares instead of the normative ones.

The golden values follow the normative conventions. The values of the others are computed here from the inputs; they
are never stored.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.attention.attention_bound import AttentionBound
from attnspec.families.attention.backward_alternatives import gradients_owed
from attnspec.families.attention.backward_bound import BackwardBound
from attnspec.families.attention.merging import OPERATION as MERGING
from attnspec.families.attention.merging import MergeBound, owed_of_merged
from attnspec.families.attention.quantized import NOTHING_QUANTIZED
from attnspec.family import Owed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Tolerance


def owed(outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: Tolerance, run: int) -> Owed:
    """Return what is owed under declared conventions, from what is owed under the normative ones.

    Parameters
    ----------
    outputs
        What is owed under the normative conventions.
    conventions
        Every convention's choice for the operation.
    bound
        Values and tolerances under the declared alternatives.
    run
        The place of the run among those that the tolerances stand for.
    """
    if isinstance(bound, BackwardBound):
        return gradients_owed(outputs, conventions, bound, run)
    if isinstance(bound, MergeBound):
        return owed_of_merged(outputs, conventions, bound, run)
    if not isinstance(bound, AttentionBound):
        return Owed(outputs, {}, ())
    declared = _Declared(outputs, conventions, bound)
    declared.rows_without_keys()
    declared.biases_by_column()
    declared.logarithms_to_base_2()
    declared.what_excluded_numbers_reach()
    declared.what_an_overflow_reaches(run)
    declared.quantized_numbers()
    return Owed(declared.outputs, declared.ungraded, tuple(declared.under))


def computed_under(
    outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: Tolerance
) -> Mapping[str, NDArray[Any]]:
    """Return what a mistake gives under declared conventions, from what it gives under the normative ones.

    Parameters
    ----------
    outputs
        What the mistake gives, in float64.
    conventions
        Every convention's choice for the operation.
    bound
        Values and tolerances under the declared alternatives.
    """
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


def without_keys(operation: str, outputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[np.bool_]]:
    """Return the elements of rows that weigh no key at all, by what was computed: a mistake may leave other keys."""
    if operation == MERGING:
        return {"logsumexp": np.isneginf(outputs["logsumexp"])} if "logsumexp" in outputs else {}
    weights, logsumexp = outputs.get("weights"), outputs.get("logsumexp")
    if weights is None or weights.ndim < 2:
        return {}
    empty = np.logical_not(weights.any(axis=-1))
    if not empty.any():
        return {}
    found = {"weights": np.broadcast_to(empty[..., np.newaxis], weights.shape)}
    output = outputs.get("output")
    if output is not None and output.shape[:-1] == empty.shape:
        found["output"] = np.broadcast_to(empty[..., np.newaxis], output.shape)
    if logsumexp is not None and logsumexp.shape == empty.shape:
        found["logsumexp"] = empty
    return found


class _Declared:
    """What is owed under declared alternatives, one after the other.

    Parameters
    ----------
    outputs
        What is owed under the normative conventions.
    conventions
        Every convention's choice for the operation.
    bound
        Values and tolerances under the declared alternatives.
    """

    def __init__(
        self, outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: AttentionBound
    ) -> None:
        self.outputs = dict(outputs)
        self.ungraded: dict[str, NDArray[np.bool_]] = {}
        self.under: list[str] = []
        self._conventions = conventions
        self._bound = bound

    def rows_without_keys(self) -> None:
        """Replace what queries without any key owe; their logsumexp is graded only where it is declared."""
        name = "no_keys" if self._bound.has_no_keys else "fully_masked_row"
        row, empty = self._conventions[name], self._conventions["empty_logsumexp"]
        is_other = row in ("nan", "uniform", "filled")
        for output, fully_masked in self._bound.fully_masked.items():
            if output not in self.outputs:
                continue
            if output != "logsumexp":
                if is_other:
                    other = np.nan if row == "nan" else self._bound.of(output).value
                    if row == "filled":
                        other = np.where(self._bound.without_mean[output], np.nan, other)
                    self.outputs[output] = np.where(fully_masked, other, self.outputs[output])
                    self._graded_under(f"{name}={row}")
            elif empty == "plus_infinity":
                self.outputs[output] = np.where(fully_masked, np.inf, self.outputs[output])
                self._graded_under(f"empty_logsumexp={empty}")
            elif is_other:
                self._leave_out(output, fully_masked)

    def biases_by_column(self) -> None:
        """Raise logits and logsumexp by what the ALiBi bias leaves in a row: the softmax does not see it."""
        shift = self._bound.shift
        if shift is None:
            return
        for output, raised in (("logits", shift), ("logsumexp", shift[..., 0])):
            if output in self.outputs:
                self.outputs[output] = self.outputs[output] + raised
                self._graded_under("alibi_bias=column")

    def logarithms_to_base_2(self) -> None:
        """Turn logsumexp into a logarithm to the base 2."""
        if self._conventions["logsumexp_base"] == "2" and "logsumexp" in self.outputs:
            self.outputs["logsumexp"] = self.outputs["logsumexp"] * math.log2(math.e)
            self._graded_under("logsumexp_base=2")

    def what_excluded_numbers_reach(self) -> None:
        """Leave out what NaN and infinities in excluded positions may reach.

        A mean over all values takes in the excluded ones too, whether they propagate elsewhere or not.
        """
        propagates = self._conventions["masked_nonfinite"] == "propagates"
        if not propagates and self._conventions["fully_masked_row"] not in ("uniform", "filled"):
            return
        for output, reached in self._bound.reached().items():
            elements = reached if propagates else reached & self._bound.fully_masked.get(output, np.False_)
            if output in self.outputs and elements.any():
                self._leave_out(output, elements)
                if propagates:
                    self._graded_under("masked_nonfinite=propagates")

    def what_an_overflow_reaches(self, run: int) -> None:
        """Leave out what comes from numbers that the dtype of the run cannot hold between the steps."""
        if self._conventions["half_precision_overflow"] != "open":
            return
        for output, elements in self._bound.overflowed(run).items():
            if output in self.outputs and elements.any():
                self._leave_out(output, elements)
                self._graded_under("half_precision_overflow=open")

    def quantized_numbers(self) -> None:
        """Leave out what comes from products that the declared dtype cannot hold; all others have their tolerances."""
        quantized = self._bound.quantized
        dequantized, weights = (self._conventions[name] for name in ("dequantized", "quantized_weights"))
        if quantized is NOTHING_QUANTIZED:
            return
        if dequantized != "kept":
            self._graded_under(f"dequantized={dequantized}")
            for output, elements in self._bound.beyond_dequantized().items():
                if output in self.outputs and elements.any():
                    self._leave_out(output, elements)
        if quantized.weights is not None:
            self._graded_under(f"quantized_weights={weights}")

    def _leave_out(self, output: str, elements: NDArray[np.bool_]) -> None:
        known = self.ungraded.get(output)
        self.ungraded[output] = elements if known is None else known | elements

    def _graded_under(self, alternative: str) -> None:
        if alternative not in self.under:
            self.under.append(alternative)
