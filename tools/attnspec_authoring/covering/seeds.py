"""Rows that a table lacks, each drawn until every feature of its case shows: switched off, it changes the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import attnspec_reference as reference
from attnspec.bounds import precision_of
from attnspec.contract import OPERATIONS
from attnspec.contract.declarations import resolve_conventions
from attnspec.contract.dtypes import rounded_to
from attnspec.families.lookup import family_of
from attnspec_authoring.covering.construction import completed
from attnspec_authoring.covering.table import Call, Row
from attnspec_authoring.recipes.attention.pairs.switched_off import switched_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.covering.table import Table
    from attnspec_authoring.recipes.authoring import AuthoredCase

MANY: Mapping[str, float] = {"float64": 100.0, "float32": 20.0}
"""Dtype to how many tolerances lie between a case and the case without one of its features.

Half precision is distinguished by the same cases, but by fewer tolerances.
"""

_MOST_SEEDS = 40
"""A feature that so many draws do not show is not shown by drawing: the rule of the table's rows needs a word."""


def idle_features(case: AuthoredCase, without: Mapping[str, Call]) -> list[str]:
    """Return the features of a case that do not show; `without` has the call in which each is switched off."""
    found: list[str] = []
    for dtype, many in MANY.items():
        inputs = {name: rounded_to(array, dtype) for name, array in case.inputs.items()}
        family = family_of(case.operation)
        with np.errstate(all="ignore"):
            bound = family.tolerance(
                case.operation, inputs, case.attributes, precision_of(dtype), resolve_conventions({}, case.operation)
            )
            output = OPERATIONS[case.operation].outputs[0]
            estimate, open_elements = bound.of(output), bound.ungraded(output)
            graded = np.ones(estimate.value.shape, np.bool_) if open_elements is None else ~open_elements
            if output in case.sample:
                stored = np.zeros(graded.size, np.bool_)
                stored[list(case.sample[output])] = True
                graded = graded & stored.reshape(graded.shape)
            for name, call in without.items():
                other = _result(case.operation, call)
                if other.shape == estimate.value.shape:
                    beyond = np.abs(other - estimate.value) > many * estimate.error
                    if not (beyond & graded).any():
                        found.append(f"{name} in {dtype}")
    return found


def _result(operation: str, call: Call) -> NDArray[Any]:
    """Return the first output of the reference."""
    inputs, attributes = call
    result: Any = getattr(reference, operation)(**inputs, **attributes)
    # A named tuple of outputs, or the only output.
    return np.asarray(getattr(result, OPERATIONS[operation].outputs[0], result))


def extended(table: Table) -> tuple[tuple[Row, ...], list[str]]:
    """Return the rows of a table with those that it lacks, and what is wrong with some of them."""
    kept = table.rows()
    found = completed(table.factors, table.allowed, [row.levels for row in kept])
    rows, problems = list(kept), list[str]()
    for levels in found.rows[len(kept) :]:
        row, idle = _drawn(table, len(rows), levels)
        rows.append(row)
        if idle:
            problems.append(f"{table.case(len(rows) - 1, row).title}: {', '.join(idle)}")
    return tuple(rows), problems


def _drawn(table: Table, number: int, levels: Mapping[str, str]) -> tuple[Row, list[str]]:
    """Return a row with the first seed with which every feature shows, or with none of which one does, and what not."""
    idle: list[str] = []
    for seed in range(_MOST_SEEDS):
        row = Row(levels, seed)
        case = table.case(number, row)
        idle = idle_features(case, switched_off(case))
        if not idle:
            return row, []
    return Row(levels, 0), idle
