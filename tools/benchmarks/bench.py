"""What `make bench` runs: everything that is measured in time and memory, as ratios to yardsticks of the same run.

``python tools/benchmarks/bench.py [--runs N] [--only WORD] [--write]`` prints the figures; ``--write`` keeps them in
``spec/studies``: ``bench.md`` and ``bench.json``. With ``--only``, other
figures stay as they were kept.
"""

from __future__ import annotations

import argparse
import json
import sys

from ratios import EVERY, Measured, measured_from
from study import STUDIES, Study, environment, publish, table

ABOUT = """
Each figure is the median of ratios: what is measured and its yardstick took turns in one process of measuring, so that
a busy machine was busy for both. *From* and *to* are the least and the greatest ratio of a run. Draws are made,
expected, toleranced and graded; nobody answers them, so that all of it is this project's own time.
"""

KEPT = STUDIES / "bench.json"


def main() -> None:
    """Measure, print, and keep the figures on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="measure what has this word in its name")
    parser.add_argument("--write", action="store_true", help="keep the figures in spec/studies")
    options = parser.parse_args()
    kept = _kept() if options.only else {}
    figures: list[Measured] = []
    for measurement in EVERY:
        if options.only is None or options.only in measurement.name:
            print(f"{measurement.name} ...", file=sys.stderr)  # noqa: T201
            figures += measurement.measure(options.runs)
    if kept and options.write:
        figures = [*(kept | {(figure.name, figure.at): figure for figure in figures}).values()]
    heading = ("what", "at", "times", "from", "to", "yardstick", "yardstick takes")
    rows = [_row(figure) for figure in figures]
    publish(Study("Benchmarks", ABOUT, table(heading, rows)), STUDIES / "bench.md" if options.write else None)
    if options.write:
        document = {"environment": environment(), "figures": [figure.as_json() for figure in figures]}
        KEPT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _kept() -> dict[tuple[str, int | None], Measured]:
    """Return the figures that are kept, by name and size."""
    if not KEPT.is_file():
        return {}
    figures = [measured_from(document) for document in json.loads(KEPT.read_text("utf-8"))["figures"]]
    return {(figure.name, figure.at): figure for figure in figures}


def _row(figure: Measured) -> tuple[object, ...]:
    yardstick = sorted(figure.yardsticks)[len(figure.yardsticks) // 2]
    return (
        figure.name,
        "" if figure.at is None else f"{figure.at:,}",
        f"{figure.ratio:.2f}",
        f"{min(figure.ratios):.2f}",
        f"{max(figure.ratios):.2f}",
        figure.yardstick,
        f"{yardstick:.3g} {figure.unit}",
    )


if __name__ == "__main__":
    main()
