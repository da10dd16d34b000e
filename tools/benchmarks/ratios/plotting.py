"""The figures as a picture: a bar for each that has no size, a line for those that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ratios.timing import Measured

_INK = "#1f4e79"


def plot(figures: Sequence[Measured], path: Path) -> None:
    """Draw all figures into a file.

    Parameters
    ----------
    figures
        What was measured.
    path
        The file, an SVG.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "attnspec"
    from matplotlib import pyplot

    alone = [figure for figure in figures if figure.at is None]
    lines: dict[str, list[Measured]] = {}
    for figure in figures:
        if figure.at is not None:
            lines.setdefault(figure.name, []).append(figure)
    drawn, axes = pyplot.subplots(
        1 + len(lines),
        1,
        figsize=(8, 3 + 0.3 * len(alone) + 2.6 * len(lines)),
        height_ratios=[max(len(alone), 1) * 0.4, *(2.2 for _ in lines)],
    )
    first, *others = axes if lines else [axes]
    labels = [f"{figure.name}\nover {figure.yardstick}" for figure in alone]
    first.barh(labels, [figure.ratio for figure in alone], color=_INK)
    for place, figure in enumerate(alone):
        first.plot([min(figure.ratios), max(figure.ratios)], [place, place], color="black", linewidth=1)
        first.annotate(f" {figure.ratio:.2f}", (max(figure.ratios), place), va="center", fontsize=7)
    first.invert_yaxis()
    first.tick_params(labelsize=7)
    first.set_xlabel("times the yardstick (median; the line goes from the least run to the greatest)", fontsize=7)
    for axis, (name, points) in zip(others, lines.items(), strict=True):
        sizes = [point.at for point in points]
        axis.plot(sizes, [point.ratio for point in points], marker="o", color=_INK)
        axis.set(xscale="log", yscale="log")
        axis.set_title(f"{name}, over {points[0].yardstick}", fontsize=8)
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axis.minorticks_off()
        lowest, highest = min(point.ratio for point in points), max(point.ratio for point in points)
        marks = [step * 10.0**power for power in range(-3, 5) for step in (1, 2, 5)]
        axis.set_yticks(marks, [f"{mark:g}" for mark in marks])
        axis.set_ylim(max(mark for mark in marks if mark <= lowest), min(mark for mark in marks if mark >= highest))
        axis.tick_params(labelsize=7)
        axis.grid(visible=True, which="major", linewidth=0.3)
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None})
    pyplot.close(drawn)
