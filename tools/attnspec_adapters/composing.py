"""Adapters of libraries, composed of what each states: its operations with their arguments, dtypes, conventions."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from types import SimpleNamespace
from typing import Any, cast

from attnspec.contract import OPERATIONS
from attnspec.contract.operation import REQUIRED


def composed(
    name: str,
    version: str,
    *functions: Callable[..., Any],
    dtypes: tuple[str, ...],
    conventions: Mapping[str, str],
    without: tuple[str, ...] = (),
    differing: Mapping[str, tuple[str, ...]] | None = None,
) -> SimpleNamespace:
    """Compose an adapter from functions that are named after operations; `differing` has dtypes of some of them."""
    offered = {function.__name__: function for function in functions}
    by_operation = dict.fromkeys(offered, dtypes) | dict(differing or {})
    return SimpleNamespace(
        name=name,
        version=version,
        dtypes=by_operation if differing else dtypes,
        conventions=conventions,
        without=without,
        **offered,
    )


def taking(arguments: str, operation: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Offer an operation, which a function is named after unless it is stated, with some of its optional arguments.

    The function, or method, gets one object that has every argument of the contract for an attribute: as it is given,
    or at its default. Its signature is shown as that of the operation with these arguments alone.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        offered = OPERATIONS[operation or function.__name__]
        defaults = dict.fromkeys(offered.optional_inputs) | {
            name: default for name, default in offered.attributes.items() if default is not REQUIRED
        }
        owner = list(signature(function).parameters)[:-1]
        shown = Signature(
            [
                *(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (*owner, *offered.required_arguments)),
                *(Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name]) for name in arguments.split()),
            ]
        )

        @wraps(function)
        def called(*positional: Any, **named: Any) -> Any:
            given = {**defaults, **shown.bind(*positional, **named).arguments}
            return function(*(given.pop(name) for name in owner), SimpleNamespace(**given))

        called.__name__ = offered.name
        cast("Any", called).__signature__ = shown
        return called

    return decorated
