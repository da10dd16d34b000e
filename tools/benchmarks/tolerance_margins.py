"""How close correct computations come to their tolerance: the worst error / tolerance of every control.

``python tools/benchmarks/tolerance_margins.py`` runs each control over the golden cases of its operation, in every
dtype that a case offers, and prints a Markdown table. Nothing in it may exceed 1.
"""

from __future__ import annotations

from types import SimpleNamespace

from attnspec import validate
from attnspec.dtypes import FLOAT_DTYPES
from attnspec_mistakes import CONTROLS


def main() -> None:
    """Print a row for each control."""
    print(f"| control | {' | '.join(FLOAT_DTYPES)} |")  # noqa: T201
    print("|---|" + "---:|" * len(FLOAT_DTYPES))  # noqa: T201
    for control in CONTROLS:
        holder = SimpleNamespace(**{control.operation: control.function}, name=control.id, dtypes=FLOAT_DTYPES)
        report = validate(holder, conventions={"input_checks": "lenient"})
        worst = dict.fromkeys(FLOAT_DTYPES, 0.0)
        for result in report.results:
            if result.verdict.worst is not None and result.case.rejects is None:
                worst[result.dtype] = max(worst.get(result.dtype, 0.0), result.verdict.worst.ratio)
        print(f"| {control.id} | {' | '.join(f'{worst[dtype]:.2f}' for dtype in FLOAT_DTYPES)} |")  # noqa: T201


if __name__ == "__main__":
    main()
