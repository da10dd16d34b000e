"""How close correct computations come to their tolerance: the worst error / tolerance of every control.

``python tools/benchmarks/tolerance_margins.py`` runs each control over the golden cases of its operation, in every
dtype that a case offers, and prints the worst of each control and of each operation; ``--write`` writes the latter to
``spec/studies/tolerance-margins.md``. Nothing in it may exceed 1.
"""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import TYPE_CHECKING

from study import Study, add_write_option, publish, table

from attnspec import validate
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec_controls import CONTROLS

if TYPE_CHECKING:
    from attnspec_controls import Control

ABOUT = """
How close right computations come to the tolerance of [decision 6](../decisions/0006-tolerance.md): the worst error /
tolerance over all outputs of the golden cases. The controls compute what the spec says in other orders and forms:
online softmax in tiles, powers of two, a split scale, strictly sequential sums, fused and mixed products. Above 1 one
of them would fail, and the model would be wrong. Operations that only move numbers have the tolerance 0 and no error.
"""


def worst_ratios(control: Control) -> dict[str, float]:
    """Return the worst error / tolerance of a control, by dtype."""
    holder = SimpleNamespace(**{control.operation: control.function}, name=control.id, dtypes=FLOAT_DTYPES)
    report = validate(holder, conventions={"input_checks": "lenient"})
    worst = dict.fromkeys(FLOAT_DTYPES, 0.0)
    for result in report.results:
        if result.verdict.worst is not None and result.case.rejects is None:
            worst[result.dtype] = max(worst.get(result.dtype, 0.0), result.verdict.worst.ratio)
    return worst


def measure() -> tuple[list[str], list[str]]:
    """Measure every control, and return the table of the operations, and that of the controls."""
    by_control = {control.id: worst_ratios(control) for control in CONTROLS}
    by_operation: dict[str, list[dict[str, float]]] = {}
    for control in CONTROLS:
        by_operation.setdefault(control.operation, []).append(by_control[control.id])
    worst = {
        operation: {dtype: max(ratios[dtype] for ratios in found) for dtype in FLOAT_DTYPES}
        for operation, found in by_operation.items()
    }
    of_controls = table(("control", *FLOAT_DTYPES), _rows(by_control))
    return table(("operation", *FLOAT_DTYPES), _rows(worst)), [*of_controls, ""]


def _rows(ratios: dict[str, dict[str, float]]) -> list[tuple[str, ...]]:
    return [(f"`{name}`", *(f"{found[dtype]:.2f}" for dtype in FLOAT_DTYPES)) for name, found in ratios.items()]


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_write_option(parser, "tolerance-margins")
    options = parser.parse_args()
    publish(Study("Right computations and their tolerance", ABOUT, *measure()), options.write)


if __name__ == "__main__":
    main()
