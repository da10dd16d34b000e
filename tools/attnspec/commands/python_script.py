"""Case as a stand-alone script: inputs as literals, the formula, the certified values, the difference."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.literals import array_literal
from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from attnspec.cases import Case

MOST_LINES = 40
"""No script has more lines; a line of data may be as long as the data are."""


def python_script(case: Case, formula: Callable[[Case], list[str]]) -> str:
    """Return a script of at most `MOST_LINES` lines that reproduces a case with NumPy alone, in float64.

    It computes the outputs by the lines of `formula`, prints their distance from the certified values, and raises
    ``AssertionError`` where that is too far. For a case that must be refused it shows the arguments.
    """
    if case.generated:
        return _by_this_package(case)
    inputs = [f"{name} = {array_literal(array)}" for name, array in case.inputs.items()]
    if case.rejects is not None:
        stated = [f"{name} = {value!r}" for name, value in case.attributes.items()]
        said = f"{case.operation} must refuse these inputs: {case.rejects.reason}"
        return _script(case, [*inputs, *stated], [f"print({said!r})"])
    if case.properties is not None:
        return _script(case, [], formula(case))
    golden = case.golden(case.runs[0])
    sampled = {
        name: array.ravel()[case.sample[name]] if name in case.sample else array for name, array in golden.items()
    }
    expected = [f"expected_{name} = {array_literal(array)}" for name, array in sampled.items()]
    # Overflow and NaN are what some cases are about.
    quiet = ['np.seterr(all="ignore")']
    return _script(case, [*inputs, *expected], [*quiet, *formula(case), *_comparison(golden, case)])


def _by_this_package(case: Case) -> str:
    """Return a script for a case with generated inputs: neither they nor its scores fit into one."""
    return f'''"""{_title(case)}"""
import attnspec
case = attnspec.case({case.id!r}, dtype={case.runs[0]!r})
arguments = case.arguments  # drawn by the generator of spec/generator.md
print({{name: getattr(array, 'shape', array) for name, array in arguments.items()}})
# case.check(attention(**arguments)) holds what your function returns against the certified sample
'''


def _script(case: Case, data: Sequence[str], computing: Sequence[str]) -> str:
    text = "\n".join((*data, *computing))
    names = [name for name in ("inf", "nan") if re.search(rf"(?<![.\w]){name}\b", text)]
    head = [f'"""{_title(case)}"""', "import numpy as np"]
    if names:
        head.append(f"from numpy import {', '.join(names)}")
    return "\n".join((*head, *_joined(list(data), MOST_LINES - len(head) - len(computing)), *computing)) + "\n"


def _title(case: Case) -> str:
    layouts = "; ".join(f"{name} is handed over {layout}" for name, layout in case.memory_order.items())
    title = f"{case.id}: {case.title}" + (f" ({layouts})" if layouts else "")
    return title.replace("\\", "/").replace('"', "'")


def _joined(lines: list[str], room: int) -> list[str]:
    """Put the shortest neighbouring lines together until there is room for all."""
    while len(lines) > max(room, 1):
        shortest = min(range(len(lines) - 1), key=lambda first: len(lines[first]) + len(lines[first + 1]))
        lines[shortest : shortest + 2] = [f"{lines[shortest]}; {lines[shortest + 1]}"]
    return lines


def _comparison(golden: Mapping[str, NDArray[Any]], case: Case) -> list[str]:
    compared = {
        name: f"{name}.ravel()[{case.sample[name].tolist()}]" if name in case.sample else name for name in golden
    }
    pairs = ", ".join(f'"{name}": ({got}, expected_{name})' for name, got in compared.items())
    lines = [f"for name, (got, expected) in {{{pairs}}}.items():"]
    has_nan = any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in golden.values())
    if all(OPERATIONS[case.operation].outputs_by_name[name].exact for name in golden):
        # NaN that is moved stays NaN, which no number equals.
        equal = f"np.array_equal(got, expected{', equal_nan=True' if has_nan else ''})"
        return [*lines, f"    assert {equal}, name", '    print(name, "is as expected")']
    # Where NaN is expected, the result of an infinity depends on the order of a sum.
    return [
        *lines,
        "    error = np.abs(got - expected)[(got != expected) & (expected == expected)]",
        '    print(name, "differs by", error.max(initial=0.0))',
        *(["    got = np.where(np.isinf(got) & (expected != expected), expected, got)"] if has_nan else []),
        f"    np.testing.assert_allclose(got, expected, rtol=1e-9, atol={_allowed_error(case):.0e}, err_msg=name)",
    ]


def _allowed_error(case: Case) -> float:
    """Return the float64 error allowed for sums with the largest input: 4 units of it, and 1e-12 at least."""
    floats = [array[np.isfinite(array)] for array in case.inputs.values() if array.dtype.kind == "f"]
    largest = max((float(np.abs(array).max(initial=0)) for array in floats), default=0.0)
    return max(1e-12, 4 * 2.0**-53 * largest)
