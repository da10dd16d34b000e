"""What `make bench` runs: time and memory as ratios to yardsticks of the same run, compared with those that are kept.

``python tools/benchmarks/bench.py [--only WORD] [--write] [--accept WORD] [--slowdown PERCENT]``: ``bench.toml`` says
what is measured, and which goal stands beside it. ``--write`` keeps a dated line in ``spec/studies/bench.json`` and
the table in ``bench.md``; ``--accept`` keeps what is slower now and meant to be; ``--slowdown`` makes all that is
measured slower, to see it noticed.

Exit status: 0; 1 where a ratio is worse than the kept one; 2 where it could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratios.measuring import BenchError, Figure, Ratio, measure
from study import STUDIES, Study, environment, publish, table, today

if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = """
Each figure is the median of ratios: a command and its yardstick took turns, each in a fresh process on one thread, so
that a busy machine was busy for both. *From* and *to* are the least and the greatest ratio. The yardstick of a set of
cases is a bare loop that imports numpy and jsonschema, reads their JSON, and calls the implementation twice.
*Kept* is the least ratio so far, on such an environment.
"""

TABLE = Path(__file__).with_suffix(".toml")
HISTORY = STUDIES / "bench.json"

LIMIT = 1.12
"""How often the kept ratio is red. Three unchanged runs of five pairs on a busy machine had medians from 3.33 to 3.39,
2 % apart, though single pairs went from 3.15 to 3.51; what is slower by 20 % must not pass."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, compare, and keep the figures on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORD", help="measure what has this in its name")
    parser.add_argument("--write", action="store_true", help="keep the figures in spec/studies")
    parser.add_argument(
        "--accept", metavar="WORD", action="append", default=[], help="keep what is slower and has this"
    )
    parser.add_argument("--slowdown", metavar="PERCENT", type=float, default=0.0, help="make all slower, to try this")
    parser.add_argument("--table", type=Path, default=TABLE, help="other ratios")
    parser.add_argument("--history", type=Path, default=HISTORY, help="another file of kept ones")
    options = parser.parse_args(arguments)
    ratios = [Ratio(**entry) for entry in tomllib.loads(options.table.read_text("utf-8"))["ratio"]]
    lines = json.loads(options.history.read_text("utf-8")) if options.history.is_file() else []
    figures: list[Figure] = []
    for ratio in ratios:
        if ratio.is_possible and (options.only or "") in ratio.name:
            print(f"{ratio.name} ...", file=sys.stderr)  # noqa: T201
            try:
                figures.append(_measured(ratio, kept(lines, ratio.name), options.slowdown / 100))
            except BenchError as error:
                print(f"bench: {error}", file=sys.stderr)  # noqa: T201
                return 2
    publish(Study("Benchmarks", ABOUT, figure_table(figures, lines)), None)
    accepted = [each.ratio.name for each in figures if any(word in each.ratio.name for word in options.accept)]
    worse = [sentence for each in figures if each.ratio.name not in accepted for sentence in is_worse(each, lines)]
    if worse:
        print(*worse, sep="\n", file=sys.stderr)  # noqa: T201
        return 1
    if options.write:
        lines.append(_line(figures, accepted))
        options.history.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n", encoding="utf-8")
        page = Study("Benchmarks", ABOUT, figure_table(figures, lines))
        options.history.with_suffix(".md").write_text(page.text(), encoding="utf-8")
    return 0


def kept(lines: Sequence[dict[str, Any]], name: str) -> float | None:
    """Return the least ratio of a name on such an environment, since it was accepted last; None where there is none."""
    found: list[float] = []
    for line in lines:
        if line["environment"] == environment() and name in line["ratios"]:
            found = [*([] if name in line["accepted"] else found), line["ratios"][name][0]]
    return min(found, default=None)


def is_worse(figure: Figure, lines: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence where a figure exceeds the kept one by more than the limit."""
    name, before = figure.ratio.name, kept(lines, figure.ratio.name)
    if before is None or figure.median <= LIMIT * before:
        return []
    return [
        f"bench: {name}: {figure.median:.2f} times its yardstick, {figure.median / before - 1:.0%} more than the "
        f"{before:.2f} that are kept; above {LIMIT - 1:.0%} it counts as worse. Make it as fast as it was, or keep it: "
        f"--write --accept {name!r}, and say why."
    ]


def figure_table(figures: Sequence[Figure], lines: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of a table of figures, their goals and what is kept."""
    rows: list[tuple[object, ...]] = []
    for figure in figures:
        wanted, before = figure.ratio, kept(lines, figure.ratio.name)
        goals = [f"{wanted.goal:g}"] if wanted.goal is not None else []
        goals += [f"{wanted.goal_seconds:g} s"] if wanted.goal_seconds is not None else []
        goals += [f"yardstick {wanted.yardstick_seconds:g} s"] if wanted.yardstick_seconds is not None else []
        rows.append(
            (
                wanted.name,
                f"{figure.median:.2f}",
                f"{min(figure.times):.2f}",
                f"{max(figure.times):.2f}",
                ", ".join(goals),
                "met" if figure.meets_its_goals else "missed",
                "" if before is None else f"{before:.2f}",
                f"{figure.cost:.3g} {wanted.unit}",
                f"{figure.yardstick:.3g} {wanted.unit}",
                f"`{wanted.yardstick}`",
            )
        )
    heading = ("what", "times", "from", "to", "goal", "", "kept", "takes", "yardstick takes", "yardstick")
    return table(heading, rows)


def _measured(ratio: Ratio, before: float | None, slowdown: float) -> Figure:
    """Measure a ratio; what seems worse is measured once more, and the two together count."""
    figure = measure(ratio, ratio.runs, slowdown)
    if before is None or figure.median <= LIMIT * before:
        return figure
    return Figure(ratio, figure.pairs + measure(ratio, ratio.runs, slowdown).pairs)


def _line(figures: Sequence[Figure], accepted: Sequence[str]) -> dict[str, Any]:
    """Return what is kept of a run: name to ratio, what the command and what its yardstick took."""
    numbers = {
        figure.ratio.name: [float(f"{number:.4g}") for number in (figure.median, figure.cost, figure.yardstick)]
        for figure in figures
    }
    return {"date": today(), "environment": environment(), "accepted": list(accepted), "ratios": numbers}


if __name__ == "__main__":
    sys.exit(main())
