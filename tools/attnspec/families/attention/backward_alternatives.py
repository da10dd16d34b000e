"""Expected gradients under conventions that an implementation declares instead of the normative ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.record import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.families.attention.tolerance.backward_bound import BackwardBound


def expected_gradients(
    outputs: Mapping[str, NDArray[Any]], conventions: Mapping[str, str], bound: BackwardBound, run: int
) -> Expected:
    """Return the expected gradients under declared conventions, from normative ones; `run` indexes the tolerances."""
    expected, under = dict(outputs), list[str]()
    ungraded: dict[str, NDArray[np.bool_]] = {}

    def leave_open(elements: Mapping[str, NDArray[np.bool_]], alternative: str) -> None:
        reached = {name: found for name, found in elements.items() if name in expected and found.any()}
        for name, found in reached.items():
            ungraded[name] = ungraded[name] | found if name in ungraded else found
        if reached:
            under.append(alternative)

    name = "no_keys" if bound.has_no_keys else "fully_masked_row"
    choice = conventions[name]
    if bound.queries_without_keys is not None and choice in ("nan", "uniform", "filled"):
        open_elements = bound.made_of(bound.queries_without_keys)
        if choice == "uniform":
            # The weights are 1/n; whether their own gradients go on depends on how the row was masked.
            del open_elements["grad_value"]
            open_elements |= bound.values_of_rows_without_keys()
            if "grad_value" in expected:
                # NaN that comes from queries with keys stays.
                reached = bound.by_convention["grad_value"] & ~np.isnan(expected["grad_value"])
                expected["grad_value"] = np.where(reached, bound.of("grad_value").value, expected["grad_value"])
        leave_open(open_elements, f"{name}={choice}")
    if conventions["masked_nonfinite"] == "propagates":
        leave_open(bound.reached(), "masked_nonfinite=propagates")
    if conventions["half_precision_overflow"] == "open":
        leave_open(bound.overflowed(run), "half_precision_overflow=open")
    return Expected(expected, ungraded, tuple(under))
