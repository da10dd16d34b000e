"""Outputs that were handed out and now belong to their caller: whether a later call writes over them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.adapters.imprint import imprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.adapters.implementation import Request


_MOST = 4096
"""Sets of shapes that are remembered: more than golden cases have, and a bound for draws, each of which has its own."""


class _Call(NamedTuple):
    """The outputs of one call: its dtype and shapes, the arrays that were returned, and what they held."""

    of_shapes: tuple[Any, ...]
    returned: Mapping[str, NDArray[Any]]
    held: Mapping[str, NDArray[Any]]

    def overwritten(self) -> tuple[str, ...]:
        return tuple(name for name, array in self.returned.items() if imprint(array) != imprint(self.held[name]))


class HandedOut:
    """What an implementation returned last, in each dtype of each operation, and in each set of shapes.

    Buffers are often kept by dtype and shape, so that only a call with both the same writes over them.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[Any, ...], _Call] = {}

    def overwritten(
        self, request: Request, returned: Mapping[str, NDArray[Any]], held: Mapping[str, NDArray[Any]]
    ) -> tuple[str, ...]:
        """Return which outputs of earlier calls do not hold any more what they held, and remember those of this call.

        Parameters
        ----------
        request
            The call that was answered.
        returned
            Its outputs, in the memory in which they were returned. Nobody but the implementation may hold them beside.
        held
            Copies of them.

        Notes
        -----
        The convention ``outputs``.
        """
        # An array that nobody else can reach cannot be written over: most need not be kept, nor compared. One that lies
        # in the memory of an input is the caller's, who may write over it.
        reachable = {
            name: returned[name]
            for name in returned
            if _references(returned, name) not in _ALONE and not _lies_in(returned[name], request.inputs)
        }
        if not reachable and not self._last:
            return ()
        of_dtype = (request.operation, request.dtype)
        of_shapes = (*of_dtype, *(array.shape for array in held.values()))
        found: dict[str, None] = {}
        for call in filter(None, (self._last.get(of_dtype), self._last.get(of_shapes))):
            names = call.overwritten()
            found.update(dict.fromkeys(names))
            if names:
                self._last.pop(call.of_shapes, None)  # told once
        if reachable:
            # What was remembered first is forgotten first.
            self._last.pop(of_shapes, None)
            self._last[of_dtype] = self._last[of_shapes] = _Call(of_shapes, reachable, held)
            while len(self._last) > _MOST:
                del self._last[next(iter(self._last))]
        elif found:
            self._last.pop(of_dtype, None)
        return tuple(found)


def _lies_in(array: NDArray[Any], inputs: Mapping[str, NDArray[Any]]) -> bool:
    return any(np.may_share_memory(array, given) for given in inputs.values())


def _references(arrays: Mapping[str, NDArray[Any]], name: str) -> tuple[int, int] | None:
    """Return how many references there are to an array and to its owner; None where NumPy does not own its memory."""
    owner = arrays[name].base
    if owner is None:
        return (sys.getrefcount(arrays[name]), 0) if arrays[name].flags.owndata else None
    if type(owner) is np.ndarray and owner.flags.owndata:
        return sys.getrefcount(arrays[name]), sys.getrefcount(owner)
    return None


_ALONE = (_references({"": np.empty(2)}, ""), _references({"": np.empty(2)[1:]}, ""))
"""The references to an array, and to a view, that the mapping alone holds; counted, for they differ between Pythons."""
