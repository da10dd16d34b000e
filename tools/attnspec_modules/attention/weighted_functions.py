"""Functions that take their weights beside the tokens, as layers that hold these weights.

What it is called with is then found as it is for a layer: which matrix is transposed, whether tokens are rows or
columns, what a mask means.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from attnspec_modules.attention.names import meaning_of, meaning_of_parameter

_WEIGHT = re.compile(r"(?:w|omega|weight|theta|phi)(?=_|[A-Z]|[qkvoc]\b|\d|$)", re.IGNORECASE)
_BIAS = re.compile(r"(?:b|beta|bias)(?=_|[A-Z]|[qkvoc]\b|$)", re.IGNORECASE)
_INPUTS = {"query", "key", "value"}


def takes_weights(function: Any) -> bool:
    """Return whether a function takes matrices for query, key and value, and heads or biases beside them."""
    if not inspect.isfunction(function):
        return False
    names = [*inspect.signature(function).parameters]
    matrices = {meaning_of_parameter(name) for name in names if _WEIGHT.match(name)}
    tokens = [name for name in names if meaning_of("forward", name) in ("x", "query")]
    more = any(_BIAS.match(name) and meaning_of_parameter(name) for name in names) or any(map(_is_heads, names))
    return len(tokens) == 1 and matrices >= _INPUTS and more


def _is_heads(name: str) -> bool:
    return meaning_of("constructor", name) == "heads"


def layer_of(function: Callable[..., Any], *, columns: bool) -> type:
    """Return a class that holds the weights of a function, and calls it; with `columns`, biases are columns."""
    parameters = list(inspect.signature(function).parameters.values())
    matrices = [each.name for each in parameters if _WEIGHT.match(each.name) and meaning_of_parameter(each.name)]
    biases = [each.name for each in parameters if _BIAS.match(each.name) and meaning_of_parameter(each.name)]
    heads = [each.name for each in parameters if _is_heads(each.name)]
    others = [each for each in parameters if each.name not in (*matrices, *biases, *heads)]

    def prepare(self: Any, width: int, num_heads: int = 1) -> None:
        self.num_heads = num_heads
        for name in matrices:
            setattr(self, name, np.zeros((width, width)))
        for name in biases:
            setattr(self, name, np.zeros((width, 1) if columns else width))

    def forward(self: Any, **given: Any) -> Any:
        own = {name: getattr(self, name) for name in (*matrices, *biases)}
        return function(**given, **own, **dict.fromkeys(heads, self.num_heads))

    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    width = inspect.Parameter("d_model", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    number = inspect.Parameter("num_heads", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    forward.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]

    def made(self: Any, d_model: int, **more: int) -> None:
        prepare(self, d_model, **more)

    made.__signature__ = inspect.Signature([first, width, *([number] if heads else [])])  # type: ignore[attr-defined]
    return type(function.__name__, (), {"__init__": made, "forward": forward, "__module__": function.__module__})
