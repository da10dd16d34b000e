"""Pages of cases: arguments, expected values and tolerances as tables, what a case shows, and a script to copy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from attnspec.cases import Case
from attnspec.cases.stored_tolerances import grade_called
from attnspec.contract import OPERATIONS, PROFILES
from attnspec.contract.dtypes import ANY
from attnspec_mistakes.kill_matrix import tried_cases
from attnspec_site import addresses
from attnspec_site.content import Content
from attnspec_site.implementation_pages import Table, of_version
from attnspec_site.page import Page, PageMaker
from attnspec_site.tensors import tensor_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_SCRIPT = 1_200
"""Characters of a script that a page holds: a fifth of the cases have a shorter one. All lie beside the site."""

MOST_MISTAKES = 3
"""Mistakes that a page lists; of the others it says how many there are, and a script adds them."""

_OF_EVERY_OPERATION = (".inputs_unchanged", ".memory_layout", ".repeatable")
"""Ends of the ids of clauses that nearly every case exercises."""

_SHOWN_GRADE = "float32"
"""The grade whose tolerance is shown element by element, where a case has it; of all others the largest is."""

_MOST_CLAUSES = 5
"""Clauses whose sentences a script adds; the others are named."""


def case_pages(content: Content, table: Table, maker: PageMaker) -> Iterator[Page]:
    """Give the page of each case, and the pages that list them."""
    for operation in content.operations:
        cases = [case for case in content.cases.values() if case.operation == operation]
        for case in cases:
            yield _case_page(case, content, table, maker)
        yield _operation_page(operation, cases, content, maker)
    counts = {
        operation: sum(case.operation == operation for case in content.cases.values())
        for operation in content.operations
    }
    yield maker.page(
        "cases.html",
        addresses.CASES,
        "Cases",
        counts=counts,
        operations=OPERATIONS,
        profiles=[(name, PROFILES[name], number) for name, number in _profiles(content).items()],
    )


def _profiles(content: Content) -> dict[str, dict[str, int]]:
    """Return profile to operation to how many cases it has."""
    found: dict[str, dict[str, int]] = {name: {} for name in PROFILES}
    for case in content.cases.values():
        of_profile = found[case.profile]
        of_profile[case.operation] = of_profile.get(case.operation, 0) + 1
    return {name: counts for name, counts in found.items() if counts}


def _operation_page(operation: str, cases: list[Case], content: Content, maker: PageMaker) -> Page:
    ordered = sorted(cases, key=lambda case: (list(PROFILES).index(case.profile), case.id))
    facts = OPERATIONS[operation]
    return maker.page(
        "operation.html",
        addresses.of_operation(operation),
        operation,
        facts=facts,
        profiles=[(name, PROFILES[name], list(of)) for name, of in groupby(ordered, key=lambda case: case.profile)],
        count=len(cases),
        mistakes=[mistake for mistake in content.mistakes.values() if mistake.operation == operation],
        catches=content.catches,
    )


def _case_page(case: Case, content: Content, table: Table, maker: PageMaker) -> Page:
    script = content.scripts[case.id]
    catches = content.catches.get(case.id, ())
    targets = [target for target in case.targets if target in content.mistakes]
    others = sorted(
        (mistake for mistake in catches if mistake not in targets),
        key=lambda mistake: content.mistakes[mistake].clause not in case.clauses,
    )
    root = addresses.to_root(addresses.of_case(case.id))
    clauses = [clause for clause in case.clauses if not clause.endswith(_OF_EVERY_OPERATION)]
    return maker.page(
        "case.html",
        addresses.of_case(case.id),
        case.id,
        case=case,
        source=[text for text in case.source.values() if text != f"made for the profile {case.profile}"],
        operation=OPERATIONS[case.operation],
        inputs=[Markup(table) for table in _inputs(case)],
        outputs=list(_outputs(case)),
        clauses=clauses[:_MOST_CLAUSES],
        named=[*clauses[_MOST_CLAUSES:], *(clause for clause in case.clauses if clause not in clauses)],
        errata=[content.errata[erratum] for erratum in case.errata if erratum in content.errata],
        targets=[content.mistakes[target] for target in targets],
        others=others[:MOST_MISTAKES],
        more=max(0, len(others) - MOST_MISTAKES),
        tried=case.id in tried_cases(case.operation),
        failures=table.failures_of_case.get(case.id, ()),
        of_version=of_version,
        script=script if len(script) <= LONGEST_SCRIPT else None,
        downloads=f"{root}downloads/{case.id}",
    )


def _inputs(case: Case) -> Iterator[str]:
    operation = OPERATIONS[case.operation]
    for name in (*operation.arguments, *(each for each in case.inputs if each not in operation.arguments)):
        if name in case.generated:
            shape = ", ".join(map(str, case.shapes[name]))
            yield f"<p class=t><b>{name}</b> ({shape}): generated from a seed</p>"
        elif name in case.inputs:
            yield tensor_table(operation, name, case.inputs[name])


def _outputs(case: Case) -> Iterator[dict[str, Any]]:
    """Give each expected output in each dtype of which values are stored: its table, and its tolerances in words."""
    operation = OPERATIONS[case.operation]
    for dtype, outputs in (case.expected or {}).items():
        for name, array in outputs.items():
            title = name if dtype == "all" else f"{name} in {dtype}"
            errors = _tolerances(case, name, dtype) if array.size else {}
            grade = _SHOWN_GRADE if _SHOWN_GRADE in errors else next(iter(errors), None)
            shown = None if grade is None or errors[grade].shape != array.shape else errors[grade]
            table = tensor_table(operation, name, array, shown, title=title)
            yield {
                "title": title,
                "table": Markup(table),
                "shown": None if shown is None else grade,
                "largest": [(grade, f"{float(error.max()):.2g}") for grade, error in errors.items()],
            }


def _tolerances(case: Case, output: str, of_dtype: str) -> dict[str, NDArray[np.float64]]:
    """Return the stored tolerances of an output by grade; of the grades of one dtype alone, where it has own values."""
    stored = case.stored_tolerances
    if stored is None or output not in stored.entry["outputs"]:
        return {}
    grades = [grade for grade in stored.entry["grades"] if grade != ANY]
    return {
        grade: stored.error(output, grade_called(grade))
        for grade in grades
        if of_dtype in ("all", grade_called(grade)[0])
    }
