"""Names of a function: which operation it is, and which of its parameters is which argument."""

import ast
import inspect
from dataclasses import dataclass

from attnspec.base.errors import UsageError
from attnspec.contract import IN_LAYOUT, OPERATIONS
from attnspec.contract.operation import Operation
from attnspec.families.lookup import family_of
from attnspec.scaffold.functions import Found
from attnspec.scaffold.kernels import Kernels
from attnspec.targets.naming import guess_operation, in_order, named_arguments, parameter_names
from attnspec.validation import check_operation

_UNKNOWN = "None"
"""Source that is passed for what nobody knows."""


@dataclass(frozen=True)
class Passed:
    """One parameter, its argument if any, and the Python source of what an adapter passes and of its default.

    `uses` are other arguments that the expression names, `buffer` the output that the function writes into it, and
    `guard` a condition and what it means, under which the function cannot be called.
    """

    own: str
    argument: str | None
    default: str | None
    expression: str
    by_position: bool
    uses: tuple[str, ...] = ()
    buffer: str | None = None
    guard: str | None = None
    forms: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows what to pass."""
        return self.argument is None and self.expression == _UNKNOWN


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
    every = [
        each
        for each in (called, *in_layouts)
        if set(each.required_arguments) <= named_arguments(names, each).own.keys()
    ]
    return _call(found, max(every, key=lambda each: len(each.required_arguments), default=called), why)


def _call(found: Found, operation: Operation, why: str) -> Call:
    names = parameter_names(found.parameters)
    kernels = Kernels(operation.name)
    by_names = named_arguments(names, operation)
    free = [name for name in names if kernels.filled(found.parameters[name], names, operation.outputs) is None]
    # Parameters without a default come first, in the order of the signature; sizes only where nothing else is left.
    first, all_of_them = (
        sorted(each, key=lambda name: found.parameters[name].default is not inspect.Parameter.empty)
        for each in (free, names)
    )
    named = in_order(by_names, operation, first) or in_order(by_names, operation, all_of_them)
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
        parameter, by_position = found.parameters[name], all(each.by_position for each in passed) and not left
        filled = None if name in argument_of else kernels.filled(parameter, names, operation.outputs)
        if filled is not None:
            by_position = by_position and parameter.default is inspect.Parameter.empty
            by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
                by_position and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            )
            one = Passed(name, None, None, filled.expression, by_position, filled.uses, filled.buffer, filled.guard)
        else:
            one = _passed_parameter(parameter, argument_of.get(name), operation, by_position, kernels)
        if one is None or (passed and name in left):
            left.append(name)
        else:
            passed.append(one)
    return Call(operation, why, tuple(passed), named.by_order, tuple(left))


def _passed_parameter(
    parameter: inspect.Parameter,
    argument: str | None,
    operation: Operation,
    may_go_by_position: bool,
    kernels: Kernels,
) -> Passed | None:
    """Return what is passed for a parameter; None where it is left at its default."""
    demanded = parameter.default is inspect.Parameter.empty
    if argument is None:
        return Passed(parameter.name, None, None, _UNKNOWN, may_go_by_position) if demanded else None
    required = argument in operation.required_arguments
    is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
        required and not is_keyword and may_go_by_position
    )
    follows = family_of(operation.name).unstated.get(operation.name, {})
    unstated = follows.get(argument) or kernels.unstated(argument)
    has_number = isinstance(parameter.default, int | float) and not isinstance(parameter.default, bool)
    if not required and (demanded or has_number) and unstated is not None:
        expression = f"{unstated} if {argument} is None else {argument}"
        return Passed(parameter.name, argument, "None", expression, by_position)
    forms = () if required else kernels.forms(argument, parameter.default)
    if forms:
        return Passed(parameter.name, argument, "None", forms[-1], by_position, forms=forms)
    if required or demanded:
        return Passed(parameter.name, argument, None, argument, by_position)
    try:
        literal = ast.literal_eval(repr(parameter.default)) == parameter.default
    except (ValueError, SyntaxError):
        return None
    if not literal:
        return None
    if parameter.default is not None and operation.attributes.get(argument, parameter.default) is None:
        # Its own word for what the contract writes with None.
        expression = f"{parameter.default!r} if {argument} is None else {argument}"
        return Passed(parameter.name, argument, "None", expression, by_position)
    default = operation.attributes.get(argument)
    # Where nothing is stated, the contract's default is meant, and not the function's own.
    meant = default if type(default) is type(parameter.default) else parameter.default
    return Passed(parameter.name, argument, repr(meant), argument, by_position)
