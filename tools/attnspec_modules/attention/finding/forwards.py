"""Arguments of a layer's call, by their names and their order."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from attnspec.base.errors import TargetError
from attnspec_modules.attention.layer_reading import Forward, MaskForm
from attnspec_modules.attention.names import meaning_of
from attnspec_modules.attention.rotating import OTHER_FORMS

_EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_TOKENS = ("query", "key", "value", "x", "context")
_MASKS = ("mask", "padding")
_VALUES: Mapping[str, Any] = {"true": True, "false": False, "zero": 0}
_ROTATIONS = ("positions", "rotation", "cosine", "sine")


def forward_of(
    layer_class: type, method: str, renames: Mapping[str, str]
) -> tuple[Forward, tuple[MaskForm, ...], tuple[str, ...]]:
    """Return how a layer is called, its masks, whose form is not known yet, and in words what is left out of the call.

    `renames` has own names first. Raises TargetError for an argument without a default that nothing is known of.
    """
    parameters = list(inspect.signature(getattr(layer_class, method)).parameters.values())[1:]
    demanded = [each for each in parameters if each.kind not in _VARIADIC and each.default is _EMPTY]
    meanings = {
        each.name: renames.get(each.name) or meaning_of("forward", each.name)
        for each in parameters
        if each.kind not in _VARIADIC
    }
    # A second argument may be anything that attention takes beside its queries; the first is tokens.
    tokens = {name: meaning for name, meaning in meanings.items() if meaning in _TOKENS}
    unknown = [each.name for each in demanded if meanings[each.name] is None]
    tokens = _with_unknown(tokens, unknown, demanded)
    _refuse_others(f"{layer_class.__name__}.{method}", [each for each in demanded if meanings[each.name] == "other"])
    strangers = [name for name in unknown if name not in tokens]
    if strangers:
        where = f"{layer_class.__name__}.{method}({', '.join(each.name for each in parameters)})"
        raise TargetError(
            f"{where} demands {strangers[0]!r}, and its name does not say what it is. Say it, if it is an argument of "
            f"attention: --rename {strangers[0]}=mask (or query, key, value)"
        )
    fixed: dict[str, Any] = {}
    masks: list[MaskForm] = []
    causal = cache = position = None
    switched: list[str] = []
    optional: dict[str, str] = {}
    for each in parameters:
        meaning = meanings.get(each.name)
        is_demanded = each.default is _EMPTY
        if meaning in _MASKS:
            axes = "bk" if meaning == "padding" else "bhqk"
            masks.append(MaskForm(each.name, axes, "attend", needed=is_demanded))
        elif meaning in ("causal", "is_causal"):
            causal = each.name
        elif meaning == "start":
            position = each.name
            fixed[each.name] = 0
        elif meaning == "growing":
            switched.append(each.name)
            fixed[each.name] = False
        elif (
            meaning is not None
            and meaning in _VALUES
            and (is_demanded or isinstance(each.default, bool | int) or each.default is None)
        ):
            fixed[each.name] = _VALUES[meaning]
        elif meaning in _ROTATIONS:
            (fixed if is_demanded else optional)[each.name] = meaning
        elif meaning == "cache":
            cache = each.name
            if is_demanded:
                fixed[each.name] = None
        elif meaning == "lengths":
            masks.append(MaskForm(each.name, "b", "lengths", "int64", needed=is_demanded))
    if cache is None:
        # An argument of any name may be a store that the layer fills, if it may be left out.
        unnamed = (each.name for each in parameters if meanings.get(each.name) is None and each.default is None)
        cache = next((name for name in unnamed if name not in tokens), None)
    found = Forward(tokens, fixed, causal, cache=cache, position=position, switched=tuple(switched), optional=optional)
    others = ", ".join(name for name, meaning in meanings.items() if meaning == "other")
    return found, tuple(masks), (f"not tried, and left out of each call: {others}",) if others else ()


def _refuse_others(called: str, demanded: list[inspect.Parameter]) -> None:
    """Raise TargetError for arguments that are known by name, and that no layer is given."""
    if demanded:
        raise TargetError(
            f"{called} demands {demanded[0].name!r}. A layer is called with tokens and masks; trees, documents, slots "
            "and pages are graded of functions: name the core as one, --as OPERATION"
        )


def _with_unknown(tokens: dict[str, str], unknown: list[str], demanded: list[inspect.Parameter]) -> dict[str, str]:
    """Return the tokens of a call, where demanded arguments whose names say nothing are taken by their order."""
    if {"query", "key", "value"} <= {*tokens.values()}:
        return {name: meaning for name, meaning in tokens.items() if meaning in ("query", "key", "value")}
    first = demanded[0].name if demanded else next(iter(tokens), None)
    if first in unknown:
        free = [name for name in unknown if name not in tokens]
        if not tokens and len(free) == 3:
            return dict(zip(free, ("query", "key", "value"), strict=True))
        tokens = {free[0]: "x", **tokens}
        if len(free) > 1 and len(tokens) == 1 and len(free) == 2:
            tokens[free[1]] = "context"
    wanted = {**tokens}
    if [*wanted.values()].count("x") > 1:
        names = [name for name, meaning in wanted.items() if meaning == "x"]
        wanted |= dict.fromkeys(names[1:], "context")
    if [*wanted.values()] == ["query"]:
        wanted = dict.fromkeys(wanted, "x")
    if "key" in wanted.values() and "value" not in wanted.values() and "x" in wanted.values():
        wanted = {name: "context" if meaning == "key" else meaning for name, meaning in wanted.items()}
    return wanted


def forms_of(forward: Forward) -> Iterator[Forward]:
    """Give the ways of calling that are tried, the most usual first."""
    for tables in OTHER_FORMS:
        fixed = {
            name: tables.get(value, value) if isinstance(value, str) else value for name, value in forward.fixed.items()
        }
        if fixed != forward.fixed or not tables:
            yield replace(forward, fixed=fixed)
    if forward.is_self:
        yield replace(forward, listed=("query", "key", "value"))
    yield replace(forward, rank=2)
    yield replace(forward, rank=2, batch_first=False)
    if forward.optional:
        # A default of None may be there for the signature alone.
        yield from forms_of(replace(forward, fixed={**forward.fixed, **forward.optional}, optional={}))
