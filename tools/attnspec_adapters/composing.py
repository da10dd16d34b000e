"""Adapters of libraries, composed of what each states: its operations with their arguments, dtypes, conventions."""

import math
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract import OPERATIONS
from attnspec.contract.operation import REQUIRED

_PROJECTIONS = ("query", "key", "value", "output")


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


def softmax_along(run: Callable[[NDArray[Any], int], NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    """Make `softmax` of one that always has an axis: the whole array is flattened."""

    def softmax(x: NDArray[Any], axis: int | None = -1) -> NDArray[Any]:
        return run(x.reshape(-1), 0).reshape(x.shape) if axis is None else run(x, axis)

    return softmax


def matrices_of(given: SimpleNamespace) -> tuple[NDArray[Any], ...]:
    """Return the matrices of query, key, value and output; without an output matrix the identity."""
    *others, output = (getattr(given, f"w_{name}") for name in _PROJECTIONS)
    return (*others, np.eye(given.w_value.shape[-1], dtype=given.w_value.dtype) if output is None else output)


def biases_of(given: SimpleNamespace) -> tuple[NDArray[Any] | None, ...]:
    """Return the biases of query, key, value and output, None where there is none."""
    return tuple(getattr(given, f"b_{name}", None) for name in _PROJECTIONS)


def refuse_scale(scale: float | None, width: int, layer: str) -> None:
    """Raise `Unsupported` unless a scale is the only one that a library's layer has."""
    if scale is not None and not math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-15):
        raise Unsupported(f"{layer} has no scale but 1/sqrt(E)")
