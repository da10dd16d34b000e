"""Text of an adapter in which a reading of a layer stands, to be corrected where it is not meant."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from attnspec_modules.attention.found_in_words import findings
from attnspec_modules.attention.layer_reading import Reading
from attnspec_modules.libraries.kinds import attributes_of, is_dict, is_listed

_DECLARED = ("dtypes", "conventions", "without")
_LONGEST_LINE = 110
_NAMES = ("Forward", "MaskForm", "Placement")


def adapter_of(layer_class: type, reading: Reading, operations: tuple[str, ...], imports: list[str]) -> str:
    """Return the file of an adapter, in which `read_layer` is called with all that was found."""
    name, module = layer_class.__name__, layer_class.__module__
    configurations = _configurations(reading.constructor, layer_class)
    arguments = [f"    {each.name}={_written(getattr(reading, each.name), configurations)}," for each in _said(reading)]
    names = ", ".join([name, *dict.fromkeys(configurations.values())])
    rotation = "" if reading.rotation is None else ", Rotation"
    lines = [
        f'"""{module}.{name} as {" and ".join(operations)}, begun by `attnspec init`.',
        "",
        *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in findings(reading)),
        '"""',
        "",
        *imports,
        f"from {module} import {names}",
        "",
        f"from attnspec_modules.attention.adapting import {', '.join(_NAMES)}{rotation}, read_layer",
        "",
        "layer = read_layer(",
        f"    {name},",
        *arguments,
        ")",
        *(f"{operation} = layer.{operation}" for operation in operations),
        "layer_checks = layer.layer_checks",
        *(f"{declared} = {getattr(reading, declared)!r}" for declared in _DECLARED if getattr(reading, declared)),
        "",
    ]
    return "\n".join(lines)


def _said(reading: Reading) -> list[Any]:
    """Return the fields of a reading that are not as they are by default, but for what an adapter declares."""
    return [
        each for each in fields(reading) if each.name not in _DECLARED and getattr(reading, each.name) != _default(each)
    ]


def _default(each: Any) -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


def _written(value: Any, configurations: Mapping[int, str]) -> str:
    """Return a value in Python: a dataclass by what differs from its defaults, a configuration by its name."""
    if id(value) in configurations:
        return configurations[id(value)]
    if hasattr(value, "__dataclass_fields__"):
        said = [
            f"{each.name}={_written(getattr(value, each.name), configurations)}"
            for each in fields(value)
            if getattr(value, each.name) != _default(each)
        ]
        return f"{type(value).__name__}({', '.join(said)})"
    if is_dict(value):
        entries = [f"{name!r}: {_written(each, configurations)}" for name, each in value.items()]
        whole = "{" + ", ".join(entries) + "}"
        broken = "{\n" + "".join(f"        {entry},\n" for entry in entries) + "    }"
        return whole if len(whole) < _LONGEST_LINE else broken
    if is_listed(value):
        entries = [_written(each, configurations) for each in value]
        return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"
    return repr(value)


def _configurations(constructor: Mapping[str, Any], layer_class: type) -> dict[int, str]:
    """Return the names, in the layer's file, of the classes and examples of configurations, by identity."""
    scope = attributes_of(sys.modules[layer_class.__module__]) if layer_class.__module__ in sys.modules else {}
    scope = scope or getattr(layer_class.__init__, "__globals__", {})
    sources = [value[""] for value in constructor.values() if is_dict(value) and value.get("") is not None]
    return {id(source): name for source in sources for name, each in scope.items() if each is source}
