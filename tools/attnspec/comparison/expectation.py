"""What a case expects of an implementation under the conventions that it declares.

The golden values follow the normative conventions. Where an implementation declares another one, the values that it
is held to are computed here from the inputs; they are never stored.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from attnspec.conventions import is_normative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.comparison.tolerance import Tolerance


class Values(NamedTuple):
    """Outputs are owed.

    Attributes
    ----------
    outputs
        Output name to the values owed.
    ungraded
        Output name to elements that are not graded because the declared alternative leaves them open.
    under
        The declared alternatives, such as ``fully_masked_row=nan``; None under the normative conventions.
    sample
        Output name to the flat indices of the elements that are owed, where not all are.
    """

    outputs: Mapping[str, NDArray[Any]]
    ungraded: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})
    under: str | None = None
    sample: Mapping[str, NDArray[np.int64]] = MappingProxyType({})


class MustRefuse(NamedTuple):
    """The input must be refused."""

    reason: str
    under: str | None = None


class NotGraded(NamedTuple):
    """The case says nothing about an implementation that declares this."""

    reason: str


Expectation = Values | MustRefuse | NotGraded


def expectation(
    case: Case,
    dtype: str,
    conventions: Mapping[str, str],
    inputs: Mapping[str, NDArray[Any]],
    bound: Tolerance | None,
) -> Expectation:
    """Return what a run of `case` in `dtype` should give.

    Parameters
    ----------
    case, dtype
        The run. The case is not one that is graded by properties.
    conventions
        Every convention's choice for the case's operation.
    inputs
        The inputs as the run sees them, in float64, bool or int64.
    bound
        Values and tolerances; may be None for a case that everyone must refuse.
    """
    sensitive = list(case.conventions)
    if case.rejects is not None:
        if case.rejects.convention is None:
            return MustRefuse(case.rejects.reason)
        name, choice = case.rejects.convention
        under = None if is_normative(name, choice) else f"{name}={choice}"
        if conventions[name] == choice:
            return MustRefuse(case.rejects.reason, under)
        if name == "input_checks":
            return NotGraded(f"graded only under input_checks={choice}; declared is {conventions[name]}")
        sensitive.append(name)
        outputs = _reference_outputs(case, inputs)
    else:
        outputs = dict(case.golden(dtype))
    for name in sensitive:
        if conventions[name] == "refuse":
            return MustRefuse(f"{case.title} (declared: {name}=refuse)", f"{name}=refuse")
    if bound is None:
        return Values(outputs, sample=case.sample)
    declared = _Declared(outputs, conventions, bound)
    declared.rows_without_keys()
    declared.biases_by_column()
    declared.logarithms_to_base_2()
    declared.what_excluded_numbers_reach()
    return Values(declared.outputs, declared.ungraded, ", ".join(declared.under) or None, case.sample)


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

    def __init__(self, outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: Tolerance) -> None:
        self.outputs = dict(outputs)
        self.ungraded: dict[str, NDArray[np.bool_]] = {}
        self.under: list[str] = []
        self._conventions = conventions
        self._bound = bound

    def rows_without_keys(self) -> None:
        """Replace what queries without any key owe; their logsumexp is graded only where it is declared."""
        name = "no_keys" if self._bound.no_keys else "fully_masked_row"
        row, empty = self._conventions[name], self._conventions["empty_logsumexp"]
        is_other = row in ("nan", "uniform", "filled")
        for output, dead in self._bound.dead.items():
            if output not in self.outputs:
                continue
            if output != "logsumexp":
                if is_other:
                    other = np.nan if row == "nan" else self._bound.of(output).value
                    if row == "filled":
                        other = np.where(self._bound.empty[output], np.nan, other)
                    self.outputs[output] = np.where(dead, other, self.outputs[output])
                    self._graded_under(f"{name}={row}")
            elif empty == "plus_infinity":
                self.outputs[output] = np.where(dead, np.inf, self.outputs[output])
                self._graded_under(f"empty_logsumexp={empty}")
            elif is_other:
                self._leave_out(output, dead)

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
            elements = reached if propagates else reached & self._bound.dead.get(output, np.False_)
            if output in self.outputs and elements.any():
                self._leave_out(output, elements)
                if propagates:
                    self._graded_under("masked_nonfinite=propagates")

    def _leave_out(self, output: str, elements: NDArray[np.bool_]) -> None:
        known = self.ungraded.get(output)
        self.ungraded[output] = elements if known is None else known | elements

    def _graded_under(self, alternative: str) -> None:
        if alternative not in self.under:
            self.under.append(alternative)


def _reference_outputs(case: Case, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the outputs for a case that stores none because the normative choice is to refuse it elsewhere."""
    import attnspec_reference
    from attnspec.operations import OPERATIONS

    returned: Any = getattr(attnspec_reference, case.operation)(**inputs, **case.attributes)
    values = cast("tuple[NDArray[Any], ...]", returned if isinstance(returned, tuple) else (returned,))
    return dict(zip(OPERATIONS[case.operation].outputs, values, strict=True))
