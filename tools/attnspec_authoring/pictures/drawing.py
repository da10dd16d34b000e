"""Drawings in SVG: heat maps, who attends to whom, angles and bars; small, and the same on every machine.

Ink follows the colours of the page, light or dark. The larger a number, the fuller its tint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

CELL, ROW, GAP, TITLE = 46, 24, 34, 22
"""Width and height of a cell, the gap between panels, and the height of a title, in pixels."""

FULLEST = 0.6
"""Opacity of the largest number's tint: ink on it has a contrast of 5 to 1 and more, on white and on black."""

STYLE = (
    "text{font:12px sans-serif;fill:#1f2328}.t{font-weight:bold}.s{fill:#57606a}.l{stroke:#8c959f;fill:none}"
    ".p{fill:#0969da}.n{fill:#bc4c00}.w{stroke:#0969da;fill:none}.o{stroke:#bc4c00;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.p{fill:#4493f8}.n{fill:#f0883e}"
    ".w{stroke:#4493f8}.o{stroke:#f0883e}}"
)
"""Colours on white and on black: ink, notes, lines, and two tints that colour-blind readers distinguish."""


@dataclass(frozen=True)
class Part:
    """Part of a picture: SVG elements, and how much room they take."""

    elements: tuple[str, ...]
    width: float
    height: float


def heat_map(
    title: str,
    numbers: NDArray[np.float64],
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    digits: int = 2,
    cell: int = CELL,
    note: str = "",
) -> Part:
    """Return a table of numbers (rows, columns); tints are relative to the largest, those below zero are orange."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    largest = float(np.max(np.abs(finite), initial=0.0)) or 1.0
    left = 8 + max(map(_width, rows), default=-8)
    top = TITLE + (16 if columns else 0)
    elements = [_text(left, 12, title, "t")]
    elements += [_text(left + cell * (j + 0.5), top - 5, name, "s", "middle") for j, name in enumerate(columns)]
    for i, row in enumerate(numbers):
        y = top + ROW * i
        if rows:
            elements.append(_text(left - 8, y + 16, rows[i], "s", "end"))
        for j, number in enumerate(row):
            x, share = left + cell * j, round(FULLEST * abs(finite[i, j]) / largest, 2)
            if share:
                tint = "n" if finite[i, j] < 0 else "p"
                elements.append(
                    f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{ROW - 2}" class="{tint}" opacity="{share:g}"/>'
                )
            elements.append(f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{ROW - 2}" class="l"/>')
            elements.append(_text(x + cell / 2 - 1, y + 15, _number(number, digits), "", "middle"))
    height = top + ROW * len(numbers)
    return _noted(elements, left + cell * numbers.shape[1], height, note, left)


def attending(title: str, weights: NDArray[np.float64], queries: Sequence[str], keys: Sequence[str]) -> Part:
    """Return queries on the left and keys on the right; a line is as thick and as plain as its weight."""
    left, right = max(map(_width, queries)) + 6, max(map(_width, keys)) + 6
    span, step = 110, 30
    elements = [_text(0, 12, title, "t")]
    height = TITLE + step * max(weights.shape)
    ends = [[TITLE + (height - TITLE) * (index + 0.5) / count for index in range(count)] for count in weights.shape]
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            if weight > 0.005:
                elements.append(
                    f'<path class="w" d="M{left} {ends[0][i]:g}C{left + 50} {ends[0][i]:g} {left + span - 50} '
                    f'{ends[1][j]:g} {left + span} {ends[1][j]:g}" stroke-width="{0.5 + 7 * weight:.1f}" '
                    f'opacity="{0.25 + 0.65 * weight:.2f}"/>'
                )
    elements += [_text(left - 6, y + 4, name, "", "end") for y, name in zip(ends[0], queries, strict=True)]
    elements += [_text(left + span + 6, y + 4, name) for y, name in zip(ends[1], keys, strict=True)]
    return Part(tuple(elements), left + span + right, height)


def angles(title: str, turned: Sequence[tuple[str, Sequence[tuple[float, float]]]], note: str = "") -> Part:
    """Return a circle for each name with points, as hands from its middle: the first is grey, others are tinted."""
    radius, elements = 42, [_text(0, 12, title, "t")]
    longest = max(math.hypot(*point) for _, points in turned for point in points)
    for index, (name, points) in enumerate(turned):
        x, y = radius + 8 + index * (2 * radius + 24), TITLE + radius + 6
        elements.append(f'<circle cx="{x}" cy="{y}" r="{radius}" class="l"/>')
        axes = f"M{x - radius} {y}h{2 * radius}M{x} {y - radius}v{2 * radius}"
        elements.append(f'<path class="l" opacity=".5" d="{axes}"/>')
        for turn, (right, up) in enumerate(points):
            to_x, to_y = x + radius * right / longest, y - radius * up / longest
            kind = "l" if turn == 0 else "w"
            elements.append(f'<path class="{kind}" stroke-width="2.5" d="M{x} {y}L{to_x:.1f} {to_y:.1f}"/>')
            dot = "s" if turn == 0 else "p"
            elements.append(f'<circle cx="{to_x:.1f}" cy="{to_y:.1f}" r="3.5" class="{dot}"/>')
        elements.append(_text(x, y + radius + 16, name, "s", "middle"))
    width = 16 + len(turned) * (2 * radius + 24) - 24
    return _noted(elements, width, TITLE + 2 * radius + 26, note, 0)


def bars(title: str, heights: Sequence[float], names: Sequence[str], note: str = "") -> Part:
    """Return bars above their names, none for those that are empty."""
    tall, width = 110, max(18.0, max(map(_width, names)) + 8)
    elements, largest = [_text(0, 12, title, "t")], max(heights)
    for index, (height, name) in enumerate(zip(heights, names, strict=True)):
        size = round(tall * height / largest, 1)
        elements.append(
            f'<rect class="p" opacity=".7" x="{width * index:g}" y="{TITLE + tall - size:g}" width="{width - 3:g}" '
            f'height="{size:g}"/>'
        )
        elements.append(_text(width * (index + 0.5) - 1.5, TITLE + tall + 15, name, "s", "middle"))
    return _noted(elements, width * len(names), TITLE + tall + 20, note, 0)


def picture(description: str, *parts: Part) -> str:
    """Return the SVG of parts side by side, under a description for readers who do not see it."""
    width = sum(part.width for part in parts) + GAP * (len(parts) - 1) + 16
    height = max(part.height for part in parts) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(description)}">',
        f"<style>{STYLE}</style>",
    ]
    x = 8.0
    for part in parts:
        lines += [f'<g transform="translate({x:g} 8)">', *part.elements, "</g>"]
        x += part.width + GAP
    return "\n".join([*lines, "</svg>", ""])


def _noted(elements: list[str], width: float, height: float, note: str, left: float) -> Part:
    if note:
        elements = [*elements, _text(left, height + 16, note, "s")]
    titles = max((left + _width(note), width)) if note else width
    return Part(tuple(elements), max(titles, left + 6.6 * _title_length(elements)), height + (20 if note else 0))


def _title_length(elements: Sequence[str]) -> int:
    return len(elements[0].partition(">")[2].partition("<")[0])


def _number(number: float, digits: int) -> str:
    if np.isinf(number):
        return "∞" if number > 0 else "-∞"
    return f"{number:.{digits}f}".replace("-0." + "0" * digits, "0." + "0" * digits) if digits else f"{number:.0f}"


def _width(text: str) -> float:
    """Return about how wide a text is in the font of 12 pixels."""
    return 6.4 * len(text)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    kinds = f' class="{kind}"' if kind else ""
    anchors = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{kinds}{anchors}>{escape(text)}</text>'
