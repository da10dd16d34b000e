"""Arrangements: how the axes of tensors go from the contract to an implementation of another layout.

One letter is an axis: ``"bhse->bshe"`` moves axes, ``"bhse->hse"`` drops the batch axis (one call for each entry),
``"o->o1"`` adds an axis of length 1. Inputs go from left to right, outputs from right to left. A layout whose tensors
are no permutations answers with a `Repacked`: other arguments, and a function that restores the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Axes:
    """Axes of one tensor, a letter each: in the contract, those that the layout lacks first, and in the layout.

    "1" is an axis of length 1 that the contract does not have.
    """

    contract: str
    layout: str

    @classmethod
    def read(cls, notation: str) -> Axes:
        """Read the notation ``"bhse->hse"``."""
        contract, layout = notation.split("->")
        return cls(contract, layout)

    @property
    def called_once_each(self) -> str:
        """The axes that the layout lacks: the implementation is called once for each entry of them."""
        return "".join(letter for letter in self.contract if letter not in self.layout)

    def of_rank(self, rank: int) -> Axes:
        """Return the axes of a tensor that lacks leading axes, because it broadcasts along them."""
        contract = self.contract[len(self.contract) - rank :]
        return Axes(contract, "".join(letter for letter in self.layout if letter in contract))

    def to_layout(self, array: NDArray[Any], entry: Mapping[str, int]) -> NDArray[Any]:
        """Return the part of an input that one call sees, as a view; `entry` is the index along each dropped axis."""
        # An axis of length 1 broadcasts, so every call sees its one entry.
        index = tuple(
            min(entry[letter], length - 1) if letter in entry and letter not in self.layout else slice(None)
            for letter, length in zip(self.contract, array.shape, strict=True)
        )
        kept = [letter for letter in self.contract if letter in self.layout]
        moved = array[index].transpose([kept.index(letter) for letter in self.layout if letter != "1"])
        added = tuple(position for position, letter in enumerate(self.layout) if letter == "1")
        return np.expand_dims(moved, added)

    def from_layout(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an output of one call with the contract's axes, less those that the layout lacks.

        One of another rank than the layout's is returned as it is: its shape is for the verdict to judge.
        """
        if array.ndim != len(self.layout):
            return array
        return array.transpose([self.layout.index(letter) for letter in self.contract if letter in self.layout])


@dataclass(frozen=True)
class Arrangement:
    """Axes of the tensors of a request in another layout, and the attributes to pass (None: those of the request).

    Inputs without axes go to every call as they are; outputs without axes are put together from the calls as they came.
    """

    tensors: Mapping[str, Axes]
    attributes: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Repacked:
    """A request with other arguments than the contract's, in one call.

    `restore` gives the outputs in the contract's shapes, from those that came back by name; or a sentence that says why
    they are no outputs of the layout.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    restore: Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]] | str]


class Circumstances(NamedTuple):
    """Facts that a layout may go by beside a request.

    `settings` has the numbers as they were written (empty for a word alone); `conventions` is empty where the normative
    ones hold; `before` counts earlier calls with the same: values that do not matter may differ each time.
    """

    settings: Mapping[str, str] = MappingProxyType({})
    conventions: Mapping[str, str] = MappingProxyType({})
    before: int = 0


Layout = Callable[
    [str, Mapping[str, "NDArray[Any]"], Mapping[str, Any], Circumstances], Arrangement | Repacked | str | None
]
"""Arranges an operation with its inputs and attributes; None passes it on as it is, words say why it cannot be done."""


@dataclass(frozen=True)
class AxesOfOperations:
    """A `Layout` in which tensors have other axes alone: operation to its arrangement; others stay as they are."""

    operations: Mapping[str, Arrangement]

    def __call__(
        self, operation: str, _: Mapping[str, NDArray[Any]], __: Mapping[str, Any], ___: Circumstances
    ) -> Arrangement | str | None:
        """Return the arrangement of an operation; None where it is passed on as it is, words where it cannot be."""
        return self.operations.get(operation)

    @property
    def concerns(self) -> frozenset[str]:
        """The operations that have another form in it."""
        return frozenset(self.operations)


def read_axes(axes_to_names: Mapping[str, Sequence[str]]) -> dict[str, Axes]:
    """Return the axes of each tensor, given the tensors of each notation."""
    return {name: Axes.read(notation) for notation, names in axes_to_names.items() for name in names}
