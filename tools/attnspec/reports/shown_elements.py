"""Single elements in words: expected value, returned value, and their difference over the tolerance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.grading import Compared, Run, Values, compare

ELEMENTS_SHOWN = 10
_COLUMNS = ("element", "expected", "got", "error", "tolerance", "error / tolerance")


def elements_text(run: Run, got: Mapping[str, NDArray[Any]], *, most: int = ELEMENTS_SHOWN) -> str:
    """Return at most `most` elements of each output as a table, the worst first.

    Outputs with wrong elements are shown, or else the first expected one; empty where no elements can be compared.
    """
    expected = run.expected
    if not isinstance(expected, Values):
        return ""
    names = [name for name in run.operation.outputs if name in got and name in expected.outputs]
    alike = [name for name in names if got[name].shape == expected.outputs[name].shape]
    with np.errstate(all="ignore"):
        compared = [compare(run, expected, name, got[name], run.bound_index) for name in alike]
    reported = [each for each in compared if each.wrong] or compared[:1]
    return "\n".join(line for each in reported for line in _table(each, most))


def _table(compared: Compared, most: int) -> list[str]:
    size = compared.ratios.size
    wrong = int(np.count_nonzero(~(compared.ratios <= 1)))
    heading = f"{compared.name}: {f'{wrong} wrong' if wrong else 'none wrong'}, of {size:,} elements"
    if compared.ungraded:
        heading += f", {compared.ungraded:,} of them not graded"
    # Infinite ratios are alike; among them, those that lie further off say more.
    further = np.nan_to_num(compared.error, nan=np.inf, posinf=np.inf)
    order = np.lexsort((np.arange(size), -further.ravel(), -compared.ratios.ravel()))
    graded = [int(index) for index in order if compared.ratios.item(int(index)) >= 0]
    rows = [_COLUMNS, *(_row(compared, index) for index in graded[:most])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    left = (wrong if wrong else len(graded)) - most
    more = [f"  … and {left:,} more{' that are wrong' if wrong else ''}"] if left > 0 else []
    return [heading, *(f"  {line}" for line in lines), *more]


def _row(compared: Compared, index: int) -> tuple[str, ...]:
    element = compared.element(index)
    distinguished = f"{element.expected:.9g}" != f"{element.got:.9g}" or element.expected == element.got
    digits = 9 if distinguished else 17
    return (
        f"[{', '.join(map(str, element.index))}]",
        f"{element.expected:.{digits}g}",
        f"{element.got:.{digits}g}",
        f"{element.error:.3g}",
        f"{element.tolerance:.3g}",
        f"{element.ratio:.3g}",
    )
