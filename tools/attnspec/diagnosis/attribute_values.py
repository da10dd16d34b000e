"""Values of attributes that an implementation does not take: a case is expected otherwise under another one."""

from collections.abc import Mapping

from attnspec.cases import Case
from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.runner import Result
from attnspec.runner.changed_call import expected_by_reference


def may_be_meant(name: str, choice: str, result: Result) -> bool:
    """Return whether a choice differs from what a result was graded under; a value of an attribute, from its default.

    It is the one value of an attribute only where the implementation has no such argument.
    """
    if CONVENTIONS[name].settles is not Settles.ATTRIBUTE:
        return True
    operation = result.run.operation
    return name in result.at_default and choice not in (CONVENTIONS[name].choices[0], operation.defaults.get(name))


def is_value_of(name: str, result: Result) -> bool:
    """Return whether a convention is about the value of an attribute which a result was called without."""
    if CONVENTIONS[name].settles is not Settles.ATTRIBUTE or name not in result.at_default:
        return False
    return name in result.case.attributes or not CONVENTIONS[name].stated_where_it_matters


def with_other_values(result: Result, conventions: Mapping[str, str]) -> Case | None:
    """Return the case with the values that attributes have under `conventions`, for what was called without them.

    The reference gives what is expected then; None where it does not.
    """
    case = result.case
    others = {name: choice for name, choice in conventions.items() if is_value_of(name, result)}
    if case.expected is None or all(case.attributes.get(name) == choice for name, choice in others.items()):
        return case
    other = case._replace(attributes={**case.attributes, **others}, conventions=result.run.operation.conventions)
    return expected_by_reference(result.run, other)
