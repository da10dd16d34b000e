"""Results graded anew: as they would be under another convention, or without a capability, and which these concern."""

from collections.abc import Collection, Mapping

from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import Choices
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.contract.implementation import Crashed, Outputs, Raised, TimedOut
from attnspec.contract.layout import operation_in
from attnspec.diagnosis.attribute_values import is_value_of, with_other_values
from attnspec.diagnosis.choosing import is_finite
from attnspec.grading import INPUTS_UNCHANGED, OUTPUTS_UNCHANGED, grade
from attnspec.runner import Result
from attnspec.runner.planning import as_requested, prepare

BY_CHECK: Mapping[Settles, str] = {Settles.LIFETIME: OUTPUTS_UNCHANGED, Settles.IN_PLACE: INPUTS_UNCHANGED}
"""Subject of a convention that turns all failures of one check, to that check."""

_BESIDE_VALUES = (INPUTS_UNCHANGED, OUTPUTS_UNCHANGED, "repeatable")
"""Checks that fail whatever the values are."""

_WITHOUT_OUTPUTS = {"error": Raised, "crash": Crashed, "timeout": TimedOut}
"""Statuses of calls that gave no outputs, to their answers."""


def graded_anew(result: Result, conventions: Mapping[str, str]) -> Result:
    """Return a result graded under `conventions`, over the declared ones; unchanged where no answer was kept."""
    if result.verdict.check in _BESIDE_VALUES:
        return result
    if result.got is not None:
        answer = Outputs(result.got)
    elif result.status in _WITHOUT_OUTPUTS:
        answer = _WITHOUT_OUTPUTS[result.status](result.verdict.message)
    else:
        return result
    case = with_other_values(result, conventions)
    if case is None:
        return result
    prepared = prepare(case, [result.dtype], Choices({**result.run.conventions, **conventions}))[result.dtype]
    run = as_requested(prepared, result.run.layout, result.run.operation)._replace(at_default=result.at_default)
    return result._replace(run=run, verdict=grade(run, answer))


def graded_without(result: Result, word: str) -> Result:
    """Return a result graded without an output that is a capability of its own; unchanged where that is not missing."""
    if result.status != "malformed" or result.got is None:
        return result
    run = result.run._replace(operation=result.run.operation.lacking((word,)))
    return result._replace(run=run, verdict=grade(run, Outputs(result.got)))


def concerned_by(name: str, results: Collection[Result]) -> list[Result]:
    """Return the results that a convention may turn."""
    settles = CONVENTIONS[name].settles
    if settles is Settles.RESULTS:
        return [result for result in results if name in _sensitive(result) or _is_refused_under(result, name)]
    if settles is Settles.ATTRIBUTE:
        return [result for result in results if is_value_of(name, result)]
    if settles is Settles.REFUSALS:
        refused = [result for result in results if result.case.rejects is not None]
        return [each for each in refused if _is_refused_by_all(each) or _is_refused_under(each, name)]
    if settles in BY_CHECK:
        of_check = [result for result in results if result.verdict.check == BY_CHECK[settles]]
        return [result for result in of_check if name in result.run.operation.conventions]
    return [result for result in results if name in result.run.conventions and result.dtype == FLOAT_DTYPES[0]]


def _sensitive(result: Result) -> Collection[str]:
    """Return the conventions to which expected values are sensitive: all, where a layout has other arguments."""
    run = result.run
    has_others = run.layout is not None and operation_in(run.operation.name, run.layout).takes != run.operation.takes
    return run.operation.conventions if has_others and not is_finite(result) else result.case.conventions


def _is_refused_by_all(result: Result) -> bool:
    rejects = result.case.rejects
    return rejects is not None and rejects.convention is None


def _is_refused_under(result: Result, name: str) -> bool:
    rejects = result.case.rejects
    return rejects is not None and rejects.convention is not None and rejects.convention[0] == name
