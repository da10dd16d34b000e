"""The keywords of public functions that say how a target is reached: their types, and how help shows them."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class ArrayOptions(TypedDict, total=False):
    """How the arrays of a target are: laid out, on which device, of which library."""

    layout: str | None
    device: str | None
    tensors: str | None


class LoadOptions(ArrayOptions, total=False):
    """The keywords of `attnspec.load`; `renames` has the contract's name first."""

    bare_operation: str | None
    renames: Mapping[str, str] | None
    backward: str | None


class CandidateOptions(ArrayOptions, total=False):
    """The keywords of `attnspec.judge` that are about its target."""

    operation: str | None
    renames: Mapping[str, str] | None


class TargetOptions(CandidateOptions, total=False):
    """The keywords of `attnspec.validate` that are about its target."""

    backward: str | None
    without: Sequence[str] | str | None


def spelled_out(options: Any) -> Callable[[_Function], _Function]:
    """Let a function show the keywords of a TypedDict one by one, to help and to notebooks, and refuse all others."""
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation.__forward_arg__)
        for name, annotation in options.__annotations__.items()
    ]

    def decorate(function: _Function) -> _Function:
        own = inspect.signature(function)
        before = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        shown = own.replace(parameters=[*before, *keywords])

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            shown.bind(*arguments, **given)
            return function(*arguments, **given)

        cast("Any", checked).__signature__ = shown
        return cast("_Function", checked)

    return decorate
