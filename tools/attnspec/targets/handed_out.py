"""Memory that belongs to the caller: whether a call changes its inputs, or writes over the outputs of earlier calls."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.implementation import Request

_LARGEST_KEPT = 2**22
"""Bytes of an input that are kept to be compared; of a larger one a digest, since copies would fill the memory."""

_MOST = 4096
"""Sets of shapes that are remembered: more than golden cases have, and a bound for random cases, each with its own."""


def fingerprint(array: NDArray[Any]) -> tuple[tuple[int, ...], np.dtype[Any], bytes]:
    """Return a fingerprint of an array: its shape, its dtype and every bit; of a large one a digest of the bytes.

    Shape and dtype are part of it, for a call can reshape what it was handed.
    """
    if array.nbytes <= _LARGEST_KEPT:
        return array.shape, array.dtype, array.tobytes()
    digest = hashlib.sha256()
    parts = array.reshape(-1, array.shape[-1]) if array.flags.c_contiguous else array
    rows = max(1, _LARGEST_KEPT // max(parts[:1].nbytes, 1))
    for start in range(0, len(parts), rows):
        digest.update(parts[start : start + rows].tobytes())
    return array.shape, array.dtype, digest.digest()


class _Call(NamedTuple):
    """The outputs of one call: its dtype and shapes, the arrays that were returned, and their contents."""

    of_shapes: tuple[Any, ...]
    returned: Mapping[str, NDArray[Any]]
    copies: Mapping[str, NDArray[Any]]

    def overwritten(self) -> tuple[str, ...]:
        return tuple(
            name for name, array in self.returned.items() if fingerprint(array) != fingerprint(self.copies[name])
        )


@dataclass
class HandedOut:
    """The last outputs of an implementation, in each dtype of each operation, and in each set of shapes.

    Buffers are often kept by dtype and shape, so that only a call with both the same writes over them.
    """

    _last: dict[tuple[Any, ...], _Call] = field(default_factory=dict["tuple[Any, ...]", _Call], init=False)

    def overwritten(
        self, request: Request, returned: Mapping[str, NDArray[Any]], copies: Mapping[str, NDArray[Any]]
    ) -> tuple[str, ...]:
        """Return which outputs of earlier calls have changed (convention ``outputs``), and remember those of this call.

        Nobody but the implementation may hold the `returned` arrays too: references to them are counted. `copies`
        are of their contents.
        """
        # An array that nobody else can get at cannot be written over: most need not be kept, nor compared. One in the
        # memory of an input is the caller's, who may write over it.
        reachable = {
            name: returned[name]
            for name in returned
            if _references(returned, name) not in _ALONE
            and not any(np.may_share_memory(returned[name], given) for given in request.inputs.values())
        }
        if not reachable and not self._last:
            return ()
        of_dtype = (request.operation, request.dtype)
        of_shapes = (*of_dtype, *(array.shape for array in copies.values()))
        found: dict[str, None] = {}
        for call in filter(None, (self._last.get(of_dtype), self._last.get(of_shapes))):
            names = call.overwritten()
            found.update(dict.fromkeys(names))
            if names:
                self._last.pop(call.of_shapes, None)  # reported once
        if reachable:
            # The oldest is forgotten first.
            self._last.pop(of_shapes, None)
            self._last[of_dtype] = self._last[of_shapes] = _Call(of_shapes, reachable, copies)
            while len(self._last) > _MOST:
                del self._last[next(iter(self._last))]
        elif found:
            self._last.pop(of_dtype, None)
        return tuple(found)


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
