"""Clauses that the operations have in common are named by the cases that exercise them, and by no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attnspec.cases import ChangedArgument
from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes import authored_cases
from attnspec_authoring.recipes.completing import with_shared_clauses

CASES = authored_cases()
BY_ID = {case.id: case for case in CASES}
PLAIN = replace(BY_ID["layout/softmax_rows_other_values"], targets=())


def named(case):
    """Return the clauses that are named beside those of the recipe."""
    (made,) = with_shared_clauses([case])
    assert made.clauses[: len(case.clauses)] == case.clauses
    return made.clauses[len(case.clauses) :]


def test_a_plain_case_names_none() -> None:
    assert named(PLAIN) == ()


@pytest.mark.parametrize("layout", ["fortran", "reversed", "gapped", "inside"])
def test_a_memory_layout_is_named(layout) -> None:
    assert named(replace(PLAIN, memory_order={"x": layout})) == ("softmax.memory_layout",)


@pytest.mark.parametrize("layout", ["shared", "readonly"])
def test_inputs_in_which_an_edit_shows_are_named(layout) -> None:
    laid_out = replace(PLAIN, memory_order={"x": layout})
    assert named(laid_out) == ("softmax.inputs_unchanged", "softmax.memory_layout")


def test_a_case_that_is_there_to_catch_an_edit_names_it() -> None:
    assert named(replace(PLAIN, targets=("softmax.written_in_place",))) == ("softmax.inputs_unchanged",)
    assert named(replace(PLAIN, targets=("softmax.no_maximum", "softmax.unheard_of"))) == ()


def test_a_changed_argument_is_named_where_the_page_has_the_clause() -> None:
    assert named(replace(PLAIN, changed_argument=ChangedArgument("x", reversed=True))) == ("softmax.repeatable",)
    seeded = BY_ID["documents/002/glorot_normal_seed_7"]
    assert seeded.changed_argument is not None
    assert not any(clause.endswith(".repeatable") for clause in seeded.clauses)


def test_a_clause_that_the_recipe_names_is_not_named_twice() -> None:
    ordered = replace(PLAIN, clauses=("softmax.memory_layout", *PLAIN.clauses), memory_order={"x": "gapped"})
    assert named(ordered) == ()


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_cases_of_every_operation_name_what_holds_of_it(operation) -> None:
    exercised = {clause for case in CASES if case.operation == operation.name for clause in case.clauses}
    names = ("inputs_unchanged", "memory_layout") if operation.takes else ()
    repeated = "seed" if "seed" in operation.attributes else "repeatable"
    assert exercised >= {f"{operation.short_name}.{name}" for name in (*names, repeated)}
