"""Planning: which cases are run, in which dtypes and under which conventions, with which expectation and tolerances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import FixtureError
from attnspec.bounds import Tolerance, precision_of, stacked
from attnspec.cases import Case, Inputs, Suite, run_attributes
from attnspec.cases.stored_tolerances import Grade, StoredTolerances
from attnspec.contract import CONVENTIONS, OPERATIONS, declarations
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import Choices, conventions_settling
from attnspec.contract.dtypes import ANY, HALF_PRECISION, REFERENCE_DTYPE, follows_run, rounded_to
from attnspec.contract.layout import clauses_in
from attnspec.families.lookup import family_of, lacking_capability, needed_capabilities
from attnspec.grading import NotGraded, Run, Values, expectation
from attnspec.grading.expectation import reference_outputs
from attnspec.grading.stored_tolerance import StoredTolerance

if TYPE_CHECKING:
    from attnspec.contract.operation import Operation
    from attnspec.families.record import Family
    from attnspec.targets import Declaration


class Offered(NamedTuple):
    """The cases of families of which an operation is offered (all if none is), and family to the number left out."""

    suite: Suite
    left_out: Mapping[str, int]


def offered_part(suite: Suite, operations: Sequence[str]) -> Offered:
    """Leave out the families of which an implementation offers no operation."""
    families = {OPERATIONS[operation].family for operation in operations}
    counts = Counter(OPERATIONS[case.operation].family for case in suite.cases.values())
    others = {family: count for family, count in counts.items() if family not in families}
    if len(others) in (0, len(counts)):
        return Offered(suite, {})
    kept = {case.id: case for case in suite.cases.values() if OPERATIONS[case.operation].family in families}
    return Offered(replace(suite, cases=kept), others)


class Share(NamedTuple):
    """Which of how many shares; they are numbered from 0."""

    number: int
    of: int


def share_of(suite: Suite, share: Share) -> Suite:
    """Return a share of the cases; a refusal and its valid counterpart are in the same one."""
    if share.of == 1:
        return suite
    firsts = {case.id: case.id if case.rejects is None else case.rejects.counterpart for case in suite.cases.values()}
    # Neighbours are alike in size, so that they are dealt out in turn.
    positions = {first: position for position, first in enumerate(dict.fromkeys(firsts.values()))}
    kept = {name: case for name, case in suite.cases.items() if positions[firsts[name]] % share.of == share.number}
    return replace(suite, cases=kept)


@dataclass(frozen=True)
class Resolved:
    """The choice of every convention for each run, from what is declared or requested; `found` keeps answers."""

    declared: Mapping[str, str]
    found: dict[tuple[str, str | None, frozenset[str]], Choices] = field(
        default_factory=dict["tuple[str, str | None, frozenset[str]]", Choices], init=False, repr=False
    )

    def of(self, operation: str, dtype: str | None = None, needed: frozenset[str] = frozenset()) -> Choices:
        """Return the choices for an operation, whatever dtype and case, or for a dtype and needed capabilities."""
        key = (operation, dtype, needed)
        if key not in self.found:
            self.found[key] = declarations.resolve_conventions(self.declared, operation, dtype=dtype, needed=needed)
        return self.found[key]

    def choices_of_run(self, case: Case, dtype: str) -> Choices:
        """Return the choices for a case in a dtype."""
        if any("@" in key for key in self.declared):
            return self.of(case.operation, dtype, needed_capabilities(case))
        return self.of(case.operation)


def planned_runs(case: Case, requested: Sequence[str], declaration: Declaration, resolved: Resolved) -> list[Run]:
    """Prepare a case's run in each of its dtypes that is requested; it is not graded where it is not offered.

    The case has the clauses alone that hold in the requested layout.
    """
    case = case._replace(clauses=clauses_in(case.clauses, declaration.requested_in))
    demands = declaration.demands.get(case.operation, ())
    derived = OPERATIONS[case.operation].derived
    demanded = [name for name in demands if name in derived and name not in case.inputs]
    added, lacking = _unstated(case, [name for name in demands if name not in (*derived, *case.attributes)])
    runs: dict[str, Run] = {}
    dtypes = [dtype for dtype in case.dtypes if dtype in requested] if case.dtypes else [ANY]
    # Dtypes under the same choices are prepared together, which costs little more than one alone.
    together: dict[int, tuple[Choices, list[str]]] = {}
    for dtype in dtypes:
        choices = resolved.choices_of_run(case, dtype)
        reason = _not_offered(case, dtype, declaration, choices) or lacking
        if reason is None and demanded:
            given = _with_derived(case, dtype, demanded)
            runs |= (
                {dtype: ungraded_run(case, dtype, given)}
                if isinstance(given, str)
                else prepare(given, [dtype], choices)
            )
        elif reason is None:
            together.setdefault(id(choices), (choices, []))[1].append(dtype)
        else:
            runs[dtype] = ungraded_run(case, dtype, reason)
    for choices, group in together.values():
        runs |= prepare(case, group, choices)
    if declaration.requested_in is not None or declaration.without:
        operation = OPERATIONS[case.operation].lacking(declaration.without)
        runs = {dtype: as_requested(run, declaration.requested_in, operation) for dtype, run in runs.items()}
    at_default = _at_default(case, declaration)
    return [
        runs[dtype]._replace(
            attributes={name: value for name, value in runs[dtype].attributes.items() if name not in at_default}
            | added,
            at_default=at_default,
        )
        for dtype in dtypes
    ]


def as_requested(run: Run, layout: str | None, operation: Operation) -> Run:
    """Return a run in a layout, with the outputs that are expected there: what lies beside them may enter them."""
    run = run._replace(layout=layout, operation=operation)
    if layout is None or not isinstance(run.expected, Values):
        return run
    entered = run.family.entered_in_layout(run.case, layout, run.conventions)
    if not entered:
        return run
    known, under = run.expected.ungraded, "masked_nonfinite=propagates"
    ungraded = {
        name: marks | known.get(name, np.False_) for name, marks in entered.items() if name in run.expected.outputs
    }
    expected = run.expected._replace(ungraded={**known, **ungraded}, under=run.expected.under or under)
    return run._replace(expected=expected)


def _at_default(case: Case, declaration: Declaration) -> frozenset[str]:
    """Return the attributes that are not taken and have their default in a case: it is put to all, without them."""
    defaults = OPERATIONS[case.operation].defaults
    return frozenset(
        name
        for name, default in defaults.items()
        if case.attributes.get(name, default) == default and declaration.lacks_argument(case.operation, name)
    )


def _not_offered(case: Case, dtype: str, declaration: Declaration, choices: Choices) -> str | None:
    if case.operation not in declaration.operations:
        return f"{case.operation} is not offered"
    dtypes = declaration.dtypes_of.get(case.operation, declaration.dtypes)
    if dtype not in (*dtypes, ANY):
        return f"{dtype} is not offered: the adapter's `dtypes` are {', '.join(dtypes)}"
    lacked = lacking_capability(case, declaration.without) if declaration.without else None
    if lacked is not None:
        return f"it is declared to be without {lacked}"
    for name, only in choices.departing[Settles.ATTRIBUTE].items():
        stated = case.attributes.get(name)
        if stated is None and not CONVENTIONS[name].stated_where_it_matters:
            stated = OPERATIONS[case.operation].defaults.get(name)
        if stated is not None and stated != only:
            return f"{name}={stated} is not offered; it has {only} alone"
    return None


def _unstated(case: Case, names: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """Return the values by the page of attributes that a case leaves out, and why it cannot be put where one lacks."""
    family = family_of(case.operation)
    found: dict[str, Any] = {name: family.unstated_value(case, name) for name in names}
    lacking = next((name for name, value in found.items() if value is None), None)
    return found, None if lacking is None else f"it demands {lacking}, which the case does not give"


def _with_derived(case: Case, dtype: str, names: Sequence[str]) -> Case | str:
    """Return a case with inputs that follow from its others as a run in a dtype sees them; or why there are none."""
    derived, inputs = OPERATIONS[case.operation].derived, dict(case.inputs)
    for name in names:
        forward = OPERATIONS[derived[name]]
        seen = {of: rounded_to(case.inputs[of], dtype) for of in forward.arguments if of in case.inputs}
        stated = {of: value for of, value in run_attributes(dtype, case.attributes).items() if of in forward.arguments}
        try:
            inputs[name] = found = reference_outputs(forward.name, seen, stated)[name]
        except ValueError as refusal:
            return f"it demands {name}, and no forward pass gives it: {refusal}"
        with np.errstate(over="ignore"):
            if np.any(np.isfinite(found) & np.isinf(rounded_to(found, dtype))):
                return f"it demands {name}, which {dtype} cannot hold"
    # The new inputs would not follow from a changed argument.
    return case._replace(inputs=inputs, changed_argument=None)


def prepare(case: Case, dtypes: Sequence[str], choices: Choices) -> dict[str, Run]:
    """Return the run of a case in each of `dtypes`, or ``any``.

    Raises `FixtureError` if the inputs and attributes of the case do not fit each other, which no schema sees.
    """
    operation, family = OPERATIONS[case.operation], family_of(case.operation)
    fixed = choices.departing[Settles.ATTRIBUTE]
    refused_by_all = case.rejects is not None and (
        case.rejects.convention is None or case.rejects.convention[0] in conventions_settling(Settles.REFUSALS)
    )
    fused = operation.may_fuse and bool(choices.departing[Settles.ROUNDINGS])
    runs: dict[str, Run] = {}
    groups = [dtypes] if dtypes else []
    if len(dtypes) > 1 and (case.expected is None or "all" not in case.expected):
        groups = _with_equal_inputs(case, dtypes)
    for group in groups:
        grades = [(dtype, fused and dtype in HALF_PRECISION) for dtype in group]
        if operation.may_fuse and not fused:
            grades += [(dtype, True) for dtype in group if dtype in HALF_PRECISION]
        seen = partial(_as_seen, case, group[0])
        without_bound = refused_by_all or case.properties is not None
        compute = partial(_computed_bound, case, family, grades, seen, choices)
        bound = None if without_bound else _bound(case, grades, choices, compute)
        for index, dtype in enumerate(group):
            expected = expectation(case, dtype, choices, seen, bound, family, index)
            fused_index = None if fused or (dtype, True) not in grades else grades.index((dtype, True))
            stated = run_attributes(dtype, case.attributes)
            attributes = {name: value for name, value in stated.items() if name not in fixed}
            runs[dtype] = Run(case, dtype, operation, family, attributes, expected, bound, index, fused_index, choices)
    return runs


def ungraded_run(case: Case, dtype: str, reason: str) -> Run:
    """Return the run of a case that says nothing about an implementation."""
    return Run(case, dtype, OPERATIONS[case.operation], family_of(case.operation), {}, NotGraded(reason))


def _with_equal_inputs(case: Case, dtypes: Sequence[str]) -> list[Sequence[str]]:
    """Put dtypes that hold the inputs exactly into one group; each other one is a group of its own."""
    exact = [
        dtype
        for dtype in dtypes
        if all(np.array_equal(array, rounded_to(array, dtype)) for array in case.inputs.values() if follows_run(array))
    ]
    return [group for group in (exact, *([dtype] for dtype in dtypes if dtype not in exact)) if group]


def _as_seen(case: Case, dtype: str) -> Mapping[str, NDArray[Any]]:
    """Return the inputs of a case as a run in a dtype sees them."""
    # Generated inputs are exact in every dtype, and too large to be drawn for their bound.
    if isinstance(case.inputs, Inputs):
        return case.inputs
    return {name: rounded_to(array, dtype) for name, array in case.inputs.items()}


def _bound(case: Case, grades: Sequence[Grade], choices: Choices, compute: Callable[[], Tolerance]) -> Tolerance:
    """Return the tolerances in each grade: as stored, where these hold under the choices, or computed."""
    stored = case.stored_tolerances
    if stored is not None and stored.belong_to(case.parts) and _hold(stored, grades, choices):
        return StoredTolerance(stored, grades, compute)
    return compute()


def _hold(stored: StoredTolerances, grades: Sequence[Grade], choices: Choices) -> bool:
    """Return whether stored tolerances hold under choices: none of these concerns what was computed."""
    if choices.inner_dtype is not None and any(dtype in (ANY, REFERENCE_DTYPE) for dtype, _ in grades):
        return False
    results = choices.departing[Settles.RESULTS]
    return not results or results.keys().isdisjoint(stored.sensitive_to)


def _computed_bound(
    case: Case,
    family: Family,
    grades: Sequence[Grade],
    seen: Callable[[], Mapping[str, NDArray[Any]]],
    choices: Choices,
) -> Tolerance:
    """Return the tolerances in each grade, computed by the family's model."""
    inputs = seen()
    own = len(grades)
    if not case.is_certified:
        grades = (*grades, (REFERENCE_DTYPE, False))
    precisions = [precision_of(dtype, fused=fused, inside=choices.inner_dtype) for dtype, fused in grades]
    precision = precisions[0] if len(precisions) == 1 else stacked(precisions)
    try:
        if isinstance(inputs, Inputs):
            bound = family.sampled_tolerance(case.operation, inputs, case.attributes, case.sample, precision, choices)
        else:
            bound = family.tolerance(case.operation, inputs, case.attributes, precision, choices)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise FixtureError(
            f"The case {case.id!r} cannot be graded, because its inputs and attributes do not fit each other: {error}. "
            "Correct its recipe and run `attnspec regenerate`."
        ) from None
    if not case.is_certified:
        bound.run_of_values = own
    return bound
