"""What tells whether a call left an array as it was handed over."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST_KEPT = 2**22
"""Bytes of an input that are kept to be compared; of a larger one a digest, since copies would fill the memory."""


def imprint(array: NDArray[Any]) -> bytes:
    """Return what tells an array from one of another shape or dtype, or with any other bit.

    These are its bytes, or of a large one a digest of them, behind its shape and dtype: a call can reshape in place
    what it was handed.
    """
    kind = f"{array.shape} {array.dtype.str} ".encode()
    if array.nbytes <= _LARGEST_KEPT:
        return kind + array.tobytes()
    digest = hashlib.sha256(kind)
    parts = array.reshape(-1, array.shape[-1]) if array.flags.c_contiguous else array
    rows = max(1, _LARGEST_KEPT // max(parts[:1].nbytes, 1))
    for start in range(0, len(parts), rows):
        digest.update(parts[start : start + rows].tobytes())
    return digest.digest()
