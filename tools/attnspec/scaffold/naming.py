"""Names of a function: which operation it is, and which of its parameters is which argument."""

import ast
import inspect
from dataclasses import dataclass

from attnspec.base.errors import UsageError
from attnspec.contract import IN_LAYOUT, OPERATIONS
from attnspec.contract.operation import Operation
from attnspec.families.lookup import family_of
from attnspec.scaffold.functions import Found
from attnspec.targets.naming import guess_operation, in_order, named_arguments, parameter_names
from attnspec.validation import check_operation


@dataclass(frozen=True)
class Passed:
    """One parameter, its argument if any, and the Python source of what an adapter passes and of its default."""

    own: str
    argument: str | None
    default: str | None
    expression: str
    by_position: bool


@dataclass(frozen=True)
class Call:
    """Call of a function as an operation: arguments matched `by_order`, not by name; parameters `left` at a default."""

    operation: Operation
    why: str
    passed: tuple[Passed, ...]
    by_order: tuple[str, ...]
    left: tuple[str, ...]


def read_call(found: Found, operation: str | None) -> Call:
    """Guess which parameter is which argument, and the operation where it is None; `UsageError` if that fails."""
    if operation is not None:
        check_operation(operation)
        called, why = OPERATIONS[operation], "--as says so"
    else:
        called, why, _ = guess_operation(found.attribute.rpartition(".")[2], found.parameters)
    in_layouts = (there[called.name] for there in IN_LAYOUT.values() if called.name in there)
    # A function may lack the contract's own arguments, and name every one of those in a layout.
    names = parameter_names(found.parameters)
    every = (
        each
        for each in (called, *in_layouts)
        if set(each.required_arguments) <= named_arguments(names, each).own.keys()
    )
    return _call(found, next(every, called), why)


def _call(found: Found, operation: Operation, why: str) -> Call:
    names = parameter_names(found.parameters)
    # Parameters without a default come first, in the order of the signature.
    first = sorted(names, key=lambda name: found.parameters[name].default is not inspect.Parameter.empty)
    by_names = named_arguments(names, operation)
    named = in_order(by_names, operation, first)
    if named is None:
        missing = [argument for argument in operation.required_arguments if argument not in by_names.own]
        raise UsageError(
            f"{found.attribute}({', '.join(names)}) has no parameter for {', '.join(missing)}, which "
            f"{operation.name} needs. If it is another operation, say which: --as OPERATION"
        )
    argument_of = {own: argument for argument, own in named.own.items()}
    passed: list[Passed] = []
    left: list[str] = []
    for name in names:
        one = _passed_parameter(
            found.parameters[name], argument_of.get(name), operation, all(each.by_position for each in passed)
        )
        if one is None or (passed and name in left):
            left.append(name)
        else:
            passed.append(one)
    return Call(operation, why, tuple(passed), named.by_order, tuple(left))


def _passed_parameter(
    parameter: inspect.Parameter, argument: str | None, operation: Operation, may_go_by_position: bool
) -> Passed | None:
    """Return what is passed for a parameter; None where it is left at its default."""
    demanded = parameter.default is inspect.Parameter.empty
    if argument is None:
        return Passed(parameter.name, None, None, "None", may_go_by_position) if demanded else None
    required = argument in operation.required_arguments
    is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
        required and not is_keyword and may_go_by_position
    )
    unstated = family_of(operation.name).unstated.get(argument)
    if not required and demanded and unstated is not None:
        expression = f"{unstated} if {argument} is None else {argument}"
        return Passed(parameter.name, argument, "None", expression, by_position)
    if required or demanded:
        return Passed(parameter.name, argument, None, argument, by_position)
    try:
        literal = ast.literal_eval(repr(parameter.default)) == parameter.default
    except (ValueError, SyntaxError):
        return None
    return Passed(parameter.name, argument, repr(parameter.default), argument, by_position) if literal else None
