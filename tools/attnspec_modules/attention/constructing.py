"""Arguments with which a layer is made: widths, heads and lengths of a case under the layer's own names."""

from __future__ import annotations

import copy
import inspect
import sys
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnspec_modules.attention.layer_reading import LATENT_WORDS, WORDS, LatentWidths
from attnspec_modules.attention.names import likely_meaning_of, meaning_of
from attnspec_modules.libraries.kinds import attributes_of, is_dict

_EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_VALUES: Mapping[str, Any] = {"none": 0.0, "true": True, "false": False, "zero": 0, "device": "cpu"}
"""Meanings of names that are values: no dropout, biases wherever they are offered, the first layer of a model."""


class Sizes(NamedTuple):
    """Numbers with which a layer is made.

    `keys` and `values` are widths of projections, and `context` that of the tokens of both, where they are others.
    `dropout` is a rate, 0 but where it is to be seen that evaluation leaves dropout out.
    `kv_heads` is the number of heads of keys and values, where it is another; `theta` is the base of rotary positions.
    `latents` are the widths of a layer of latent attention.
    """

    width: int
    heads: int
    length: int
    batch: int
    causal: bool = False
    keys: int | None = None
    values: int | None = None
    context: int | None = None
    dropout: float = 0.0
    kv_heads: int | None = None
    theta: float = 10000.0
    latents: LatentWidths | None = None


class Settings(dict[str, Any]):
    """A configuration whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class UndecidedError(Exception):
    """Arguments without a default whose names say nothing."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def constructor_of(
    layer_class: type, instance: object = None, said: Mapping[str, Any] | None = None, *, is_latent: bool = False
) -> dict[str, Any]:
    """Return the arguments of a constructor: words for numbers of a case, or values; a configuration is a dict.

    `said` has those that are known already. Widths of latents mean something to a layer of latent attention alone.
    Raises UndecidedError.
    """
    found = _arguments(layer_class, layer_class, instance, dict(said or {}))
    if not is_latent:
        found = _without_latents(layer_class, found)
    nested = [value for value in found.values() if is_dict(value)]
    if "heads" not in found.values() and not nested:
        found |= _likely_heads(layer_class, found)
    if "width" not in found.values() and not nested:
        found |= _globals(layer_class)
    return found


def _without_latents(layer_class: type, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that latents alone have, which are left at their defaults."""
    latents = {name for name, value in found.items() if isinstance(value, str) and value in LATENT_WORDS}
    demanded = [each.name for each in _parameters(layer_class) if each.name in latents and each.default is _EMPTY]
    if demanded:
        raise UndecidedError(demanded)
    return {
        name: {own: each for own, each in value.items() if not (isinstance(each, str) and each in LATENT_WORDS)}
        if is_dict(value)
        else value
        for name, value in found.items()
        if name not in latents
    }


def _likely_heads(layer_class: type, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one argument that may be the number of heads, though its name does not say it."""
    counts = [
        each.name
        for each in _parameters(layer_class)
        if each.name not in found and type(each.default) is int and each.default > 1
    ]
    return {counts[0]: "heads"} if len(counts) == 1 else {}


_GLOBAL = "global "


def scope_of(layer_class: type) -> dict[str, Any]:
    """Return the global names of a layer's file."""
    return getattr(layer_class.__init__, "__globals__", {})


def _globals(layer_class: type) -> dict[str, Any]:
    """Return the numbers at the head of a file that its classes are made with, for a layer without a width."""
    scope = scope_of(layer_class)
    classes = [
        value for value in scope.values() if isinstance(value, type) and value.__module__ == layer_class.__module__
    ]
    functions = [
        function for each in classes for function in attributes_of(each).values() if hasattr(function, "__code__")
    ]
    used = {name for function in functions for name in function.__code__.co_names}
    found: dict[str, Any] = {}
    for name, value in scope.items():
        meaning = meaning_of("constructor", name)
        if (
            name in used
            and isinstance(value, int | float)
            and meaning in ("width", "length", "heads", "kv_heads", "head_width", "none")
        ):
            found[_GLOBAL + name] = _VALUES.get(meaning, meaning)
    return found


def globals_with(constructor: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    """Return the global names that a layer is made and called with, for the numbers of a case."""
    return {
        name.removeprefix(_GLOBAL): _number(value, sizes)
        for name, value in constructor.items()
        if name.startswith(_GLOBAL)
    }


def _parameters(made: Any) -> list[inspect.Parameter]:
    # A metaclass, as Flax's, has the signature of its own call.
    called = made.__init__ if isinstance(made, type) else made
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters[1:] if isinstance(made, type) else parameters


def _arguments(made: Any, layer_class: type, instance: object, said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    undecided: list[str] = []
    for parameter in _parameters(made):
        name = parameter.name
        if parameter.kind in _VARIADIC:
            continue
        if name in said:
            found[name] = said[name]
            continue
        meaning = _meaning_of_argument(layer_class, parameter)
        default = parameter.default
        if meaning == "config":
            if default is _EMPTY or default is None:
                found[name] = _configuration(layer_class, parameter)
        elif meaning in WORDS:
            if _may_mean(meaning, default):
                found[name] = meaning
        elif meaning is not None and meaning in _VALUES:
            value = _VALUES[meaning]
            if default is _EMPTY or (isinstance(default, bool) == isinstance(value, bool) and meaning != "device"):
                found[name] = value
        elif instance is not None and isinstance(getattr(instance, name, None), bool | int | float | str):
            found[name] = getattr(instance, name)
        elif default is _EMPTY:
            undecided.append(name)
    if undecided:
        raise UndecidedError(undecided)
    return found


def _meaning_of_argument(layer_class: type, parameter: inspect.Parameter) -> str | None:
    """Return what an argument stands for by its name; one of a class of the layer's file is a configuration."""
    is_of_the_file = getattr(_annotation(layer_class, parameter), "__module__", "") == layer_class.__module__
    return meaning_of("constructor", parameter.name) or ("config" if is_of_the_file else None)


def _may_mean(meaning: str, default: Any) -> bool:
    """Return whether an argument of such a name and default may be a switch, or the base of rotary positions."""
    if default is _EMPTY or meaning not in ("causal", "theta"):
        return True
    return isinstance(default, bool) if meaning == "causal" else type(default) in (int, float) and default > 1


def _configuration(layer_class: type, parameter: inspect.Parameter) -> dict[str, Any]:
    """Return the entries of a configuration that a layer is made with: of its class or example in the file, or guessed.

    The entry "" has the class or example.
    """
    scope, annotation = _scope(layer_class), _annotation(layer_class, parameter)
    candidates: list[Any] = [annotation] if isinstance(annotation, type) and annotation not in (dict, _EMPTY) else []
    candidates += [
        value
        for name, value in scope.items()
        if meaning_of("constructor", name.rpartition("_")[2]) == "config"
        or any(
            name.lower().endswith(word) or name.lower().startswith(word)
            for word in ("config", "args", "hparams", "cfg")
        )
    ]
    for candidate in (_example(each, layer_class) for each in candidates):
        own: Any = candidate
        if isinstance(candidate, type) and candidate.__module__ == layer_class.__module__:
            entries = {name: _meaning_of_entry(name, getattr(candidate, name, None)) for name in _fields(candidate)}
        elif is_dict(candidate):
            entries = {str(name): meaning_of("constructor", str(name)) for name in list(own)}
        elif (
            hasattr(candidate, "__dict__")
            and not isinstance(candidate, type)
            and not callable(candidate)
            and type(candidate).__module__ != "builtins"
        ):
            entries = {name: _meaning_of_entry(name, value) for name, value in attributes_of(candidate).items()}
        else:
            continue
        if "heads" in entries.values() or "width" in entries.values():
            return {"": candidate} | {
                name: _VALUES.get(meaning or "", meaning)
                for name, meaning in entries.items()
                if meaning is not None and meaning != "config"
            }
    return {"": None}


def _example(configuration: Any, layer_class: type) -> Any:
    """Return a configuration, or its class, if that is of the layer's file; of another one, one with its defaults."""
    if not isinstance(configuration, type) or configuration.__module__ == layer_class.__module__:
        return configuration
    try:
        return configuration()
    except Exception:
        return configuration


def _meaning_of_entry(name: str, value: object) -> str | None:
    """Return what an entry of a configuration stands for, known or likely."""
    return meaning_of("constructor", name) or likely_meaning_of(name, value)


def _scope(layer_class: type) -> Mapping[str, Any]:
    """Return the global names of a layer's file, also of one whose constructor is not its own."""
    return scope_of(layer_class) or attributes_of(sys.modules.get(layer_class.__module__) or typing)


def _annotation(layer_class: type, parameter: inspect.Parameter) -> Any:
    """Return the annotation of an argument; one that is written as a string by its name in the file."""
    annotation = parameter.annotation
    return _scope(layer_class).get(annotation.strip("'\"")) if isinstance(annotation, str) else annotation


def _fields(configuration: type) -> list[str]:
    names = [parameter.name for parameter in _parameters(configuration) if parameter.kind not in _VARIADIC]
    for base in reversed(configuration.__mro__[:-1]):
        names += [
            name
            for name in (*attributes_of(base).get("__annotations__", {}), *attributes_of(base))
            if not name.startswith("_")
        ]
    return [
        name
        for name in dict.fromkeys(names)
        if not isinstance(getattr(configuration, name, None), property)
        and not callable(getattr(configuration, name, None))
    ]


def has_word(layer_class: type, constructor: Mapping[str, Any], word: str) -> bool:
    """Return whether a layer is made with what a word stands for; or asks a configuration for it by name."""
    for value in constructor.values():
        if value == word or (is_dict(value) and word in value.values()):
            return True
        if value == {"": None}:
            code = layer_class.__init__.__code__
            names = (*code.co_names, *(each for each in code.co_consts if isinstance(each, str)))
            return any(meaning_of("constructor", name) == word for name in names)
    return False


def made_with(constructor: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    """Return the arguments of a constructor for the numbers of a case."""
    return {
        name: _configured(value, sizes) if is_dict(value) else _named(name, value, sizes)
        for name, value in constructor.items()
        if not name.startswith(_GLOBAL)
    }


def _named(name: str, value: Any, sizes: Sizes) -> Any:
    """Return the number of an argument, which is a rate of dropout where its name says so."""
    return sizes.dropout if value == 0 and meaning_of("constructor", name) == "none" else _number(value, sizes)


def _number(value: Any, sizes: Sizes) -> Any:
    if sizes.latents is not None and value in (*LATENT_WORDS, "head_width", "value_width"):
        return getattr(sizes.latents, value)
    if value == "context":
        return sizes.context or sizes.width
    if value == "kv_heads":
        return sizes.kv_heads or sizes.heads
    if value == "inner":
        return sizes.keys or sizes.width
    if value == "head_width":
        return (sizes.keys or sizes.width) // sizes.heads
    if value == "value_width":
        return (sizes.values or sizes.width) // sizes.heads
    return getattr(sizes, value) if isinstance(value, str) and value in Sizes._fields else value


class _Guessed(Settings):
    """A configuration of which nothing is known: each entry is what its name says."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def _guess(self, name: str) -> Any:
        meaning = meaning_of("constructor", name)
        is_of_others = meaning in LATENT_WORDS and self.sizes.latents is None
        if meaning is None or is_of_others or meaning in ("config", "rngs"):
            raise KeyError(name)
        return _named(name, _VALUES[meaning], self.sizes) if meaning in _VALUES else _number(meaning, self.sizes)

    def __missing__(self, name: str) -> Any:
        return self._guess(name)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._guess(name)
        except KeyError:
            raise AttributeError(f"the configuration has no {name!r}") from None

    def get(self, name: str, default: Any = None) -> Any:  # type: ignore[override]
        try:
            return self._guess(name)
        except KeyError:
            return default


def _configured(entries: Mapping[str, Any], sizes: Sizes) -> Any:
    """Return a configuration: of its class, a changed copy of an example, or one that answers by name."""
    source = entries.get("")
    numbers = {name: _named(name, value, sizes) for name, value in entries.items() if name}
    if source is None:
        return _Guessed(sizes)
    if is_dict(source):
        return Settings({**source, **numbers})
    if isinstance(source, type):
        named = {parameter.name for parameter in _parameters(source)}
        made = source(**{name: value for name, value in numbers.items() if name in named})
    else:
        made = copy.copy(source)
    for name, value in numbers.items():
        try:
            setattr(made, name, value)
        except AttributeError:
            # Frozen, and made with the number already.
            continue
    return made
