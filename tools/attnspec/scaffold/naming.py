"""Names of a function: which operation it is, and which of its parameters is which argument."""

import ast
import inspect
from dataclasses import dataclass
from difflib import get_close_matches

from attnspec.base.errors import UsageError
from attnspec.contract import IN_LAYOUT, OPERATIONS
from attnspec.contract.operation import Operation
from attnspec.families.lookup import family_of
from attnspec.scaffold.functions import Found
from attnspec.validation import check_operation

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NEAR = 0.85
"""How alike a name must be to that of an operation, as `difflib` measures it."""

_FEWEST = 3
"""So many tensors say which operation a function is, whatever they are called: fewer are demanded by most functions."""


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
        called, why = _guess_operation(found)
    in_layouts = (there[called.name] for there in IN_LAYOUT.values() if called.name in there)
    # A function may lack the contract's own arguments, and name every one of those in a layout.
    named = (each for each in (called, *in_layouts) if set(each.required_arguments) <= set(_by_names(found, each)))
    return _call(found, next(named, called), why)


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _parameter_names(found: Found) -> list[str]:
    return [name for name, parameter in found.parameters.items() if parameter.kind not in _VARIADIC]


def _by_names(found: Found, operation: Operation) -> dict[str, str]:
    """Return argument to parameter, of those whose names say it; each parameter is one argument alone."""
    usual = family_of(operation.name).usual_names()
    matched: dict[str, str] = {}
    own = {_plain(name): name for name in reversed(_parameter_names(found))}
    for exact in (True, False):
        for argument in operation.arguments:
            names = (argument,) if exact else usual.get(argument, ())
            fitting = [own[_plain(name)] for name in names if _plain(name) in own]
            free = [name for name in fitting if name not in matched.values()]
            if argument not in matched and free:
                matched[argument] = free[0]
    return matched


def _guess_operation(found: Found) -> tuple[Operation, str]:
    last = found.attribute.rpartition(".")[2]
    called = {name: operation for operation in OPERATIONS.values() for name in (operation.short_name, operation.name)}
    for name in get_close_matches(last.lower(), called, n=1, cutoff=_NEAR):
        return called[name], "its name says so"
    in_layouts = (operation for there in IN_LAYOUT.values() for operation in there.values())
    fitting = [
        operation
        for operation in (*OPERATIONS.values(), *in_layouts)
        if operation.inputs and set(operation.required_arguments) <= set(_by_names(found, operation))
    ]
    if fitting:
        return max(fitting, key=lambda operation: len(operation.required_arguments)), "its arguments are named so"
    demanded = [name for name in _parameter_names(found) if found.parameters[name].default is inspect.Parameter.empty]
    by_number = [
        operation
        for operation in OPERATIONS.values()
        if _FEWEST <= len(operation.inputs) == len(operation.required_arguments) <= len(demanded)
    ]
    if by_number:
        # The operations stand in the order of the spec, so that the first of equals is the one that is most known.
        return max(by_number, key=lambda operation: len(_by_names(found, operation))), "it demands enough arguments"
    raise UsageError(
        f"{found.attribute}({', '.join(_parameter_names(found))}): which operation it is cannot be guessed. "
        f"Say it: --as OPERATION (operations: {', '.join(OPERATIONS)})."
    )


def _call(found: Found, operation: Operation, why: str) -> Call:
    matched = _by_names(found, operation)
    free = [name for name in _parameter_names(found) if name not in matched.values()]
    missing = [argument for argument in operation.required_arguments if argument not in matched]
    # Parameters without a default come first, in the order of the signature.
    free.sort(key=lambda name: found.parameters[name].default is not inspect.Parameter.empty)
    if len(missing) > len(free):
        raise UsageError(
            f"{found.attribute}({', '.join(_parameter_names(found))}) has no parameter for {', '.join(missing)}, which "
            f"{operation.name} needs. If it is another operation, say which: --as OPERATION"
        )
    matched.update(zip(missing, free, strict=False))
    argument_of = {own: argument for argument, own in matched.items()}
    passed: list[Passed] = []
    left: list[str] = []
    for name in _parameter_names(found):
        one = _passed_parameter(
            found.parameters[name], argument_of.get(name), operation, all(each.by_position for each in passed)
        )
        if one is None or (passed and name in left):
            left.append(name)
        else:
            passed.append(one)
    return Call(operation, why, tuple(passed), tuple(missing), tuple(left))


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
