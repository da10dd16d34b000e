"""What a Python callable accepts, and how the contract's arguments are handed to it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from attnspec.errors import TargetError
from attnspec.operations import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.operations import Operation

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Signature:
    """How one callable takes the arguments of one operation.

    Attributes
    ----------
    names
        Contract name to the callable's own name, for every argument that it takes; None when it takes everything.
    positional
        The callable's names that must be given by position, in order.
    demanded
        Optional contract arguments that the callable has no default for; they are passed at their default.
    """

    names: Mapping[str, str] | None
    positional: tuple[str, ...] = ()
    demanded: Mapping[str, Any] | None = None

    def lacks(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the first argument that the callable does not take, or None."""
        if self.names is None:
            return None
        return next((name for name in arguments if name not in self.names), None)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any], renames: Mapping[str, str]) -> Any:
        """Call `function` with `arguments` under its own names."""
        given = {**(self.demanded or {}), **arguments}
        own = {(self.names or renames).get(name, name): value for name, value in given.items()}
        by_position = [own.pop(name) for name in takewhile(own.__contains__, self.positional)]
        return function(*by_position, **own)


def read_signature(
    function: Callable[..., Any], operation: Operation, renames: Mapping[str, str], where: str
) -> Signature:
    """Read how `function` takes the arguments of `operation`.

    Parameters
    ----------
    function
        The callable; decorators are looked through by ``__wrapped__``.
    operation
        The operation that it stands for.
    renames
        Contract name to the callable's own name.
    where
        How the callable is called in messages.

    Raises
    ------
    TargetError
        If a required argument has no place in the signature, or the signature demands something unknown.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return Signature(None)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return Signature(None)
    own_names = [name for name, parameter in parameters.items() if parameter.kind not in _VARIADIC]
    names = {
        argument: renames.get(argument, argument)
        for argument in operation.arguments
        if renames.get(argument, argument) in own_names
    }
    theirs = set(names.values())
    strangers = [
        name for name in own_names if name not in theirs and parameters[name].default is inspect.Parameter.empty
    ]
    for argument in operation.required_arguments:
        if argument not in names:
            candidate = strangers[0] if strangers else (own_names[0] if own_names else "NAME")
            raise TargetError(
                f"{where}({', '.join(own_names)}) has no argument {argument!r}, which {operation.name} needs. "
                f"If it goes by another name there, say so: --rename {candidate}={argument}"
            )
    if strangers:
        raise TargetError(
            f"{where}({', '.join(own_names)}) demands {strangers[0]!r}, which {operation.name} does not have. "
            f"Give it a default, or rename it: --rename {strangers[0]}=ARGUMENT "
            f"(arguments: {', '.join(operation.arguments)})."
        )
    optional = dict.fromkeys(operation.optional_inputs) | {
        name: default for name, default in operation.attributes.items() if default is not REQUIRED
    }
    demanded = {
        name: default
        for name, default in optional.items()
        if name in names and parameters[names[name]].default is inspect.Parameter.empty
    }
    positional = tuple(name for name in own_names if parameters[name].kind is _POSITIONAL_ONLY and name in theirs)
    return Signature(names, positional, demanded)
