"""Functions that take their weights beside the tokens, as layers that hold these weights.

What it is called with is then found as it is for a layer: which matrix is transposed, whether tokens are rows or
columns, what a mask means.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnspec.tensors import tensors_called
from attnspec.tensors.libraries import likely_tensors
from attnspec_modules.attention.layer_reading import Reading, is_transposed
from attnspec_modules.attention.names import meaning_of, meaning_of_parameter

_WEIGHT = re.compile(r"(?:w|omega|weight|theta|phi)(?=_|[A-Z]|[qkvoc]\b|\d|$)", re.IGNORECASE)
_BIAS = re.compile(r"(?:b|beta|bias)(?=_|[A-Z]|[qkvoc]\b|$)", re.IGNORECASE)
_INPUTS = {"query", "key", "value"}


class WeightForm(NamedTuple):
    """Axes of the matrices of query, key and value, of that of the output, and of biases.

    d are the features of tokens, h heads, e the features of a head, f those of all heads together.
    """

    inputs: str = "df"
    output: str = "fd"
    biases: str = "f"


FORMS = (
    WeightForm(),
    WeightForm(biases="f1"),
    WeightForm("hde", "hed", "he"),
    WeightForm("hde", "fd", "he"),
    WeightForm("dhe", "hed", "he"),
    WeightForm("dhe", "fd", "he"),
)
"""Forms in which weights are tried, the most usual first."""


class _Parts(NamedTuple):
    """Names of a function's matrices, biases and numbers of heads, and its other parameters."""

    matrices: list[str]
    biases: list[str]
    heads: list[str]
    others: list[inspect.Parameter]


def _parts_of(function: Callable[..., Any]) -> _Parts:
    parameters = list(inspect.signature(function).parameters.values())
    matrices = [each.name for each in parameters if _WEIGHT.match(each.name) and meaning_of_parameter(each.name)]
    biases = [each.name for each in parameters if _BIAS.match(each.name) and meaning_of_parameter(each.name)]
    heads = [each.name for each in parameters if meaning_of("constructor", each.name) == "heads"]
    taken = {*matrices, *biases, *heads}
    return _Parts(matrices, biases, heads, [each for each in parameters if each.name not in taken])


def takes_weights(function: Any) -> bool:
    """Return whether a function takes tokens, and matrices for query, key and value."""
    if not inspect.isfunction(function):
        return False
    parts = _parts_of(function)
    return bool(parts.others) and {meaning_of_parameter(name) for name in parts.matrices} >= _INPUTS


def has_heads_or_biases(function: Callable[..., Any]) -> bool:
    """Return whether a function takes more than matrices beside its tokens: a number of heads, or biases."""
    parts = _parts_of(function)
    return bool(parts.heads or parts.biases)


def is_plain(function: Callable[..., Any], reading: Reading) -> bool:
    """Return whether a function is read as one head of one sequence and nothing more: an operation as it stands."""
    is_more = has_heads_or_biases(function) or reading.masks or reading.causality != "none" or reading.has_heads
    return not is_more and reading.forward.is_self and reading.forward.rank == 2 and reading.forward.batch_first


def form_as_read(form: WeightForm, reading: Reading) -> WeightForm:
    """Return a form in which matrices lie as they are read: of equal axes, none shows which it is."""
    placed = {placement.tensors[0]: placement for placement in reading.parameters.values()}
    turned = {name: is_transposed(each.tensors, each.axes) for name, each in placed.items()}
    inputs = form.inputs[::-1] if turned["w_query"] and form.inputs == "df" else form.inputs
    return form._replace(inputs=inputs, output=form.output[::-1] if turned.get("w_output") else form.output)


def layer_of(function: Callable[..., Any], form: WeightForm) -> type:
    """Return a class that holds the weights of a function, in a form, and calls it."""
    matrices, biases, heads, others = _parts_of(function)
    library = likely_tensors(function)

    def zeros(axes: str, lengths: Mapping[str, int]) -> Any:
        array = np.zeros([lengths[letter] for letter in axes], np.float32)
        return array if library is None else tensors_called(library, None, said_by=function.__name__).given(array)

    has_heads = bool(heads) or "h" in form.inputs

    def made(self: Any, d_model: int, **more: int) -> None:
        self.num_heads = more.get("num_heads", 1)
        width = more.get("head_dim", d_model // self.num_heads)
        lengths = {"d": d_model, "h": self.num_heads, "e": width, "f": width * self.num_heads, "1": 1}
        for name in (*matrices, *biases):
            is_output = meaning_of_parameter(name) == "output"
            of_bias = form.biases.replace("f", "d").replace("he", "d") if is_output else form.biases
            of_matrix = form.output if is_output else form.inputs
            setattr(self, name, zeros(of_bias if name in biases else of_matrix, lengths))

    def forward(self: Any, **given: Any) -> Any:
        own = {name: getattr(self, name) for name in (*matrices, *biases)}
        return function(**given, **own, **dict.fromkeys(heads, self.num_heads))

    usual = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    numbers = [inspect.Parameter(name, usual) for name in ("d_model", "num_heads" if has_heads else "head_dim")]
    made.__signature__ = inspect.Signature([first, *numbers])  # type: ignore[attr-defined]
    forward.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
    return type(function.__name__, (), {"__init__": made, "forward": forward, "__module__": function.__module__})
