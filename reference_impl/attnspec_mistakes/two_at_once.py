"""Two mistakes in one implementation: each the reference but for one thing, and here but for both."""

import sys
from dataclasses import replace
from types import CellType, FunctionType
from typing import Any, cast

import numpy as np

import attnspec_reference
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.patches import Computation, patch


def both(first: Mistake, second: Mistake) -> Mistake | None:
    """Return a mistake that makes two of one operation together, under the first one's texts.

    Parameters
    ----------
    first, second
        Mistakes of one operation, each made from the reference's.

    Returns
    -------
    mistake
        Its id joins both with a plus sign. None where they change the same step, or cannot be put together.
    """
    if any(each.begin is not None or each.in_layout for each in (first, second)):
        return None
    reference = getattr(attnspec_reference, first.operation)
    function = _over(first.function, second.function, reference) or _over(second.function, first.function, reference)
    return (
        None if function is None else replace(first, id=f"{first.id}+{second.id}", function=_where_they_fit(function))
    )


def _where_they_fit(function: Computation) -> Computation:
    """Raise ``ValueError`` where one mistake cannot read what the other returns."""

    def computed(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except (AttributeError, KeyError) as error:
            raise ValueError(f"The mistakes do not fit together: {error}") from error

    return computed


def _over(outer: Any, inner: Any, reference: Any) -> Computation | None:
    """Return what `outer` computes where `inner` stands in the reference's stead."""
    if outer is reference:
        return inner
    wrapped = getattr(outer, "__wrapped__", None)
    if wrapped is None:
        return _with_steps_of_both(outer, inner, reference)
    below = _over(wrapped, inner, reference)
    closure = outer.__closure__ or ()
    if below is None or not any(cell.cell_contents is wrapped for cell in closure):
        return None
    cells = tuple(CellType(below) if cell.cell_contents is wrapped else cell for cell in closure)
    rebuilt = FunctionType(outer.__code__, outer.__globals__, outer.__name__, outer.__defaults__, cells)
    rebuilt.__kwdefaults__ = outer.__kwdefaults__
    return np.errstate(all="ignore")(cast("Computation", rebuilt))


def _with_steps_of_both(outer: Any, inner: Any, reference: Any) -> Computation | None:
    """Return the reference with the steps replaced that either patch replaces; None where both replace one."""
    steps, others = _replaced_steps(outer, reference), _replaced_steps(getattr(inner, "__wrapped__", None), reference)
    if steps is None or others is None or steps.keys() & others.keys():
        return None
    return patch(reference, **steps, **others)


def _replaced_steps(patched: Any, reference: Any) -> dict[str, Any] | None:
    """Return the steps that a patch of the reference replaces; None of any other function."""
    innermost = reference
    while hasattr(innermost, "__wrapped__"):
        innermost = innermost.__wrapped__
    if getattr(patched, "__code__", None) is not innermost.__code__:
        return None
    usual = vars(sys.modules[innermost.__module__])
    return {name: value for name, value in patched.__globals__.items() if name in usual and value is not usual[name]}
