"""Patches around the numbers: inputs edited, calls remembered, memory misread.

What they compute is right as long as every array is ordinary, every call the first, and nobody looks at the inputs
again.
"""

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Made
from attnspec_mistakes.patches import Computation, Outputs, by_name
from attnspec_reference.precision import Array

_ABSENT = object()
"""Stands for an argument that was not given; None may be a value of its own."""


def as_it_lies_in_memory(array: Array) -> Array:
    """Read an array in the order in which it lies in memory."""
    return np.array(array.ravel(order="K")).reshape(array.shape)


def without_gaps(array: Array) -> Array:
    """Read the numbers of a row one after the other, also where there are gaps between them."""
    if not array.size or array.strides[-1] <= 0:
        return array
    return np.array(np.lib.stride_tricks.as_strided(array, strides=(*array.strides[:-1], array.itemsize)))


def heads_as_one_block(array: Array) -> Array:
    """Read all tokens and heads of an entry from its beginning on, also where more lies between them."""
    dense = np.empty(array.shape, array.dtype).strides
    # What lies farther apart ends behind where it is read: nothing outside of the array is touched.
    if array.ndim != 4 or not array.size or array.strides[3] != array.itemsize or min(array.strides) < 0:
        return array
    return np.array(np.lib.stride_tricks.as_strided(array, strides=(array.strides[0], *dense[1:])))


def entries_close_together(array: Array) -> Array:
    """Take entries whose rows lie densely to follow one another, also where more lies between them."""
    if array.ndim < 3 or not array.size:
        return array
    row = array.shape[-1] * array.itemsize
    entry = array.shape[-2] * row
    # Entries that lie farther apart end behind where they are read: nothing outside of them is touched.
    if array.strides[-2:] != (row, array.itemsize) or array.strides[-3] <= entry:
        return array
    strides = (*array.strides[:-3], entry, *array.strides[-2:])
    return np.array(np.lib.stride_tricks.as_strided(array, strides=strides))


def tokens_close_together(array: Array) -> Array:
    """Take tokens whose heads lie side by side to follow one another, also where more lies between them."""
    if array.ndim != 4 or not array.size:
        return array
    entries, heads, tokens, width = array.shape
    head = width * array.itemsize
    token = heads * head
    # Tokens that lie farther apart end behind where they are read: nothing outside of them is touched.
    if array.strides[1::2] != (head, array.itemsize) or array.strides[2] <= token:
        return array
    strides = (tokens * token if entries > 1 else array.strides[0], head, token, array.itemsize)
    return np.array(np.lib.stride_tricks.as_strided(array, strides=strides))


def read_forwards(array: Array) -> Array:
    """Read an array forwards, also where it lies backwards."""
    forwards = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)
    return array[forwards]


def overwriting(
    function: Computation, name: str, written: Callable[[Mapping[str, Any], Mapping[str, Array]], Array]
) -> Computation:
    """Compute what is right, and leave something else in one of the caller's arrays.

    It is written last, from all the arguments and the outputs by name, in the shape of the input; outputs are copies.
    """

    @wraps(function)
    def patched(**arguments: Any) -> Outputs:
        outputs = {output: np.array(array) for output, array in by_name(function(**arguments)).items()}
        arguments[name][...] = written(arguments, outputs)
        return outputs

    return patched


class Remembering:
    """An operation that hears one argument only once for all calls that are alike in others.

    Arrays are distinguished by shape and dtype, other arguments by value.
    """

    def __init__(self, function: Computation, name: str, alike: tuple[str, ...]) -> None:
        self.function = function
        self.name = name
        self.alike = alike
        self.remembered: dict[tuple[Any, ...], Any] = {}

    def __call__(self, **arguments: Any) -> Outputs:
        """Compute with what was given for the argument the first time."""
        given = arguments.pop(self.name, _ABSENT)
        others = (distinguished(arguments.get(name)) for name in self.alike)
        kind = (*others, distinguished(given) if hasattr(given, "dtype") else None)
        heard = self.remembered.setdefault(kind, given)
        return self.function(**arguments, **({} if heard is _ABSENT else {self.name: heard}))


def distinguished(argument: Any) -> tuple[Any, ...]:
    """Return what distinguishes an argument from another one: the shape and the dtype of an array, or the value."""
    return (argument.shape, str(argument.dtype)) if hasattr(argument, "dtype") else (repr(argument),)


def remembering(function: Computation, name: str, *alike: str) -> Made:
    """Make a mistake that remembers an argument of calls that are alike in others."""
    return Made(function, begin=partial(Remembering, function, name, alike))
