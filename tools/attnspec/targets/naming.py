"""Names of a function: which operation it is, and which of its parameters is which argument, guessed from usual names.

An operation is guessed by the function's name, else by names of arguments, else by how many it demands; arguments by
name, and in order where a function demands enough of them under names that nobody knows.
"""

import inspect
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from attnspec.base.errors import UsageError
from attnspec.contract import IN_LAYOUT, OPERATIONS
from attnspec.contract.operation import Operation
from attnspec.families.lookup import family_of

Parameters = Mapping[str, inspect.Parameter]

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NEAR = 0.85
"""How alike a name must be to that of an operation, as `difflib` measures it."""

_FEWEST = 3
"""So many tensors say which operation a function is, whatever they are called: fewer are demanded by most functions."""


class Named(NamedTuple):
    """Argument to the function's own name for it, and the required arguments that were matched by their order alone."""

    own: Mapping[str, str]
    by_order: tuple[str, ...] = ()

    def in_words_beside(self, known: Mapping[str, str]) -> str:
        """Return the names that differ and were not `known`, in words; empty where there are none."""
        guessed = {argument: own for argument, own in self.own.items() if own != argument and argument not in known}
        pairs = ", ".join(f"{own} is {argument}" for argument, own in guessed.items())
        return f"{pairs} ({', '.join(self.by_order)} by their order alone)" if self.by_order else pairs


class GuessedOperation(NamedTuple):
    """An operation, and why it is that one; `is_by_name` where names say it, not the number of arguments alone."""

    operation: Operation
    why: str
    is_by_name: bool


def parameter_names(parameters: Parameters) -> list[str]:
    """Return the names of all parameters but ``*args`` and ``**kwargs``."""
    return [name for name, parameter in parameters.items() if parameter.kind not in _VARIADIC]


def demanded_names(parameters: Parameters) -> list[str]:
    """Return the names of the parameters without a default."""
    return [name for name in parameter_names(parameters) if parameters[name].default is inspect.Parameter.empty]


def named_arguments(names: Sequence[str], operation: Operation, known: Mapping[str, str] | None = None) -> Named:
    """Return argument to parameter, of those whose names say it, beside what is `known`; each is one argument alone."""
    usual = family_of(operation.name).usual_names()
    matched = dict(known or {})
    own = {plain_name(name): name for name in reversed(names)}
    for exact in (True, False):
        for argument in operation.arguments:
            called = (argument,) if exact else usual.get(argument, ())
            fitting = [own[plain_name(name)] for name in called if plain_name(name) in own]
            free = [name for name in fitting if name not in matched.values()]
            if argument not in matched and free:
                matched[argument] = free[0]
    return Named(matched)


def in_order(named: Named, operation: Operation, free: Sequence[str]) -> Named | None:
    """Return the required arguments that have no name as the first of the `free` parameters; None if these are fewer.

    `free` are parameters that may be arguments, in the order of the signature.
    """
    missing = [argument for argument in operation.required_arguments if argument not in named.own]
    left = [name for name in free if name not in named.own.values()]
    if len(missing) > len(left):
        return None
    return Named({**named.own, **dict(zip(missing, left, strict=False))}, tuple(missing))


def guess_operation(name: str, parameters: Parameters) -> GuessedOperation:
    """Guess which operation a function is; `UsageError` where nothing says it."""
    called = {word: operation for operation in OPERATIONS.values() for word in (operation.short_name, operation.name)}
    for word in get_close_matches(name.lower(), called, n=1, cutoff=_NEAR):
        return GuessedOperation(called[word], "its name says so", is_by_name=True)
    names = parameter_names(parameters)
    in_layouts = (operation for there in IN_LAYOUT.values() for operation in there.values())
    fitting = [
        operation
        for operation in (*OPERATIONS.values(), *in_layouts)
        if _takes_a_tensor(operation, named_arguments(names, operation))
    ]
    if fitting:
        most = max(fitting, key=lambda operation: len(operation.required_arguments))
        return GuessedOperation(OPERATIONS[most.name], "its arguments are named so", is_by_name=True)
    # It may be called after the output after which an operation is, such as a mask.
    by_output = [
        operation
        for operation in OPERATIONS.values()
        if operation.outputs[0] in name.lower().split("_") and operation.name.endswith(f"_{operation.outputs[0]}")
    ]
    for operation in by_output:
        if {*operation.required_arguments} <= named_arguments(names, operation).own.keys():
            # Beside attention, it serves that, and is not what its file is about.
            return GuessedOperation(operation, "its name and arguments say so", is_by_name=False)
    by_number = [
        operation
        for operation in (() if by_output else OPERATIONS.values())
        if _FEWEST <= len(operation.inputs) == len(operation.required_arguments) <= len(demanded_names(parameters))
    ]
    if by_number:
        # The operations stand in the order of the spec, so that the first of equals is the one that is most known.
        most = max(by_number, key=lambda operation: len(named_arguments(names, operation).own))
        return GuessedOperation(most, "it demands enough arguments", is_by_name=False)
    raise UsageError(
        f"{name}({', '.join(names)}): which operation it is cannot be guessed. "
        f"Say it: --as OPERATION (operations: {', '.join(OPERATIONS)})."
    )


def _takes_a_tensor(operation: Operation, named: Named) -> bool:
    """Return whether names say all that an operation requires, and a tensor: lengths alone are of any function."""
    tensors = {*operation.inputs, *operation.optional_inputs}
    return {*operation.required_arguments} <= named.own.keys() and not tensors.isdisjoint(named.own)


def plain_name(name: str) -> str:
    """Return a parameter's name without what usual names differ in."""
    return name.lower().replace("_", "").removesuffix("ptr")
