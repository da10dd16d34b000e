"""Names of a function: which operation it is, and which of its parameters is which argument."""

import ast
import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from attnspec.base.errors import UsageError
from attnspec.contract import IN_LAYOUT, OPERATIONS
from attnspec.contract.operation import Operation
from attnspec.scaffold.functions import Found
from attnspec.scaffold.kernels import Kernels
from attnspec.targets.naming import guess_operation, in_order, named_arguments, parameter_names
from attnspec.validation import check_operation

_UNKNOWN = "None"
"""Source that is passed for what nobody knows."""


@dataclass(frozen=True)
class Passed:
    """One parameter, its argument if any, and the Python source of what an adapter passes and of its default.

    `uses` are other arguments that the expression names, `buffer` the output that the function writes into it, `guards`
    conditions under which the function cannot be called, each with what it means, and `forms` other expressions.
    """

    own: str
    argument: str | None
    default: str | None
    expression: str
    by_position: bool
    uses: tuple[str, ...] = ()
    buffer: str | None = None
    guards: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows what to pass."""
        return self.argument is None and self.expression == _UNKNOWN

    def in_form(self, form: str) -> "Passed":
        """Return it in one of its forms, with the guard that stands behind the form instead of that of another."""
        others = {each.partition("|")[2] for each in self.forms}
        expression, _, guard = form.partition("|")
        guards = (*(each for each in self.guards if each not in others), *([guard] if guard else []))
        return replace(self, expression=expression, guards=guards)


@dataclass(frozen=True)
class Call:
    """Call of a function as an operation: arguments matched `by_order`, not by name; parameters `left` at a default.

    A case is declined that does not state what is to be `stated`.
    """

    operation: Operation
    why: str
    passed: tuple[Passed, ...]
    by_order: tuple[str, ...]
    left: tuple[str, ...]
    stated: frozenset[str] = frozenset()

    def may_take(self, arguments: Collection[str]) -> bool:
        """Return whether it takes these arguments, and they are all that a case is to state for it."""
        taken = {name for each in self.passed for name in (each.argument, *each.uses)}
        lacks = {*self.operation.arguments} - {*self.operation.required_arguments} - taken
        return lacks.isdisjoint(arguments) and self.stated <= {*arguments}


def read_calls(found: Found, operation: str | None) -> Iterator[Call]:
    """Guess which parameter is which argument, and the operation where it is None; `UsageError` if that fails.

    Where words say that an argument is built in, the call is yielded with that first, and then without; else without
    first, and then with what may be built in unsaid.
    """
    parameters = found.parameters
    if operation is not None:
        check_operation(operation)
        called, why = OPERATIONS[operation], "--as says so"
    else:
        implied = {name: each for one in OPERATIONS.values() for name, each in _implied(found, one).items()}
        called, why, _ = guess_operation(found.attribute.rpartition(".")[2], {**parameters, **implied})
    in_layouts = (there[called.name] for there in IN_LAYOUT.values() if called.name in there)
    # A function may lack the contract's own arguments, and name every one of those in a layout.
    names = parameter_names(found.parameters)
    every = [
        each
        for each in (called, *in_layouts)
        if set(each.required_arguments) <= named_arguments(names, each).own.keys()
    ]
    called = max(every, key=lambda each: len(each.required_arguments), default=called)
    own = named_arguments(names, called).own
    kernels, says = Kernels(called.name), f"{found.attribute} {inspect.getdoc(found.function) or ''}"
    said, unsaid = (
        {name: guard for name, guard in table.items() if name in called.arguments and name not in own}
        for table in (kernels.built_in(says, "words"), kernels.built_in(says, "unsaid"))
    )
    for each in (said, {}) if said else ({}, unsaid) if unsaid else ({},):
        yield _call(found, called, why, each)


def _implied(found: Found, operation: Operation) -> dict[str, inspect.Parameter]:
    """Return arguments that the shape of what a function takes gives, as if it took them."""
    kernels, names = Kernels(operation.name), parameter_names(found.parameters)
    if not kernels.implied:
        return {}
    own = named_arguments(names, operation).own
    filled = [kernels.filled(found.parameters[name], names, operation.outputs) for name in names]
    tensors = {*own, *(used for each in filled if each is not None for used in each.uses)}
    return {
        argument: inspect.Parameter(argument, inspect.Parameter.KEYWORD_ONLY)
        for argument, given_by in kernels.implied.items()
        if argument not in own and not tensors.isdisjoint(given_by)
    }


def _call(found: Found, operation: Operation, why: str, built_in: Mapping[str, str]) -> Call:
    names = parameter_names(found.parameters)
    kernels = Kernels(operation.name)
    by_names = named_arguments([*names, *_implied(found, operation)], operation)
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
    stated = {*built_in}
    for name in names:
        parameter, by_position = found.parameters[name], all(each.by_position for each in passed) and not left
        filled = None if name in argument_of else kernels.filled(parameter, names, operation.outputs)
        if filled is not None:
            by_position = by_position and parameter.default is inspect.Parameter.empty
            by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
                by_position and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            )
            one = Passed(name, None, None, filled.expression, by_position, *filled[1:])
        else:
            one = _passed_parameter(parameter, argument_of.get(name), operation, by_position, kernels)
            if one is not None and one.argument is not None:
                beside = kernels.forms_beside(one.argument, parameter.default, built_in)
                one = replace(one, forms=(*beside, *(one.forms or (one.expression,)))) if beside else one
        if one is not None and len(one.forms) > 1 and parameter.default is inspect.Parameter.empty:
            needed = one.argument or one.uses[0]
            if needed not in operation.required_arguments and not kernels.unstated(needed):
                # It has no word for a case that states nothing.
                stated.add(needed)
                one = replace(one, default="None", guards=(*one.guards, f"{needed} is None|calls without {needed}"))
        if one is None or (passed and name in left):
            left.append(name)
        else:
            passed.append(one)
    if passed and built_in:
        guards, uses = (*passed[0].guards, *built_in.values()), (*passed[0].uses, *built_in)
        passed[0] = replace(passed[0], guards=guards, uses=uses)
    return Call(operation, why, tuple(passed), named.by_order, tuple(left), frozenset(stated))


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
    unstated = kernels.unstated(argument)
    has_number = isinstance(parameter.default, int | float) and not isinstance(parameter.default, bool)
    forms = kernels.forms(argument, parameter.default)
    if not required and (demanded or has_number) and unstated is not None:
        expression = f"{unstated} if {argument} is None else {argument}"
        forms = forms and (*forms[:-1], expression)
        return Passed(parameter.name, argument, "None", expression, by_position, forms=forms)
    if forms:
        return Passed(parameter.name, argument, None if required else "None", forms[-1], by_position, forms=forms)
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
