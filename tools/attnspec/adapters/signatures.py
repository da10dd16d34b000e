"""What a Python callable accepts, and how the contract's arguments are handed to it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from attnspec.errors import TargetError
from attnspec.operation import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.operation import Operation

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Signature:
    """How one callable takes the arguments of one operation.

    Attributes
    ----------
    names
        Contract name to the callable's own name, for every argument that it takes.
    takes_everything
        Whether it also takes arguments that are not in `names`: it has ``**kwargs``, or cannot be read.
    positional
        The callable's names that must be given by position, in order, each with its own default.
    demanded
        Optional contract arguments that the callable has no default for; they are passed at their default.
    """

    names: Mapping[str, str]
    takes_everything: bool = False
    positional: Mapping[str, Any] = field(default_factory=dict[str, Any])
    demanded: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def takes(self, argument: str, own_name: str) -> bool:
        """Tell whether the callable takes `argument` under `own_name`."""
        return self.names.get(argument) == own_name

    def lacks(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the first argument that the callable does not take, or None."""
        if self.takes_everything:
            return None
        return next((name for name in arguments if name not in self.names), None)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call `function` with `arguments` under its own names."""
        own = {self.names.get(name, name): value for name, value in {**self.demanded, **arguments}.items()}
        if not self.positional:
            return function(**own)
        # Whoever gives the third by position gives the first two as well, if only at their defaults.
        length = max((place for place, name in enumerate(self.positional, 1) if name in own), default=0)
        by_position = [own.pop(name, default) for name, default in islice(self.positional.items(), length)]
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
        return Signature(renames, takes_everything=True)
    takes_everything = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    own_names = [name for name, parameter in parameters.items() if parameter.kind not in _VARIADIC]
    names: dict[str, str] = {}
    for argument in operation.arguments:
        # A rename that is meant for another operation does not count.
        for own in (renames.get(argument), argument):
            if own is not None and (takes_everything or own in own_names):
                names[argument] = own
                break
    theirs = set(names.values())
    strangers = [
        name for name in own_names if name not in theirs and parameters[name].default is inspect.Parameter.empty
    ]
    missing = [argument for argument in operation.required_arguments if argument not in names]
    if missing:
        others = [name for name in own_names if name not in theirs and name not in strangers]
        proposed = zip_longest(missing, [*strangers, *others][: len(missing)], fillvalue="NAME")
        goes = "it goes by another name" if len(missing) == 1 else "they go by other names"
        raise TargetError(
            f"{where}({', '.join(own_names)}) has no argument {', '.join(map(repr, missing))}, which {operation.name} "
            f"needs. If {goes} there, say so: {' '.join(f'--rename {own}={argument}' for argument, own in proposed)}"
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
        if names.get(name) in own_names and parameters[names[name]].default is inspect.Parameter.empty
    }
    positional = {name: parameters[name].default for name in own_names if parameters[name].kind is _POSITIONAL_ONLY}
    return Signature(names, takes_everything, positional, demanded)
