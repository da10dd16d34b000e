"""Verdicts by the bits of answers: what thousands of wrong implementations answer alike is graded once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from attnspec.grading import grade
from attnspec.targets import Outputs

if TYPE_CHECKING:
    import numpy as np

    from attnspec.grading import Verdict
    from attnspec.runner import Run
    from attnspec.targets import Answer

_Bits = tuple[tuple[tuple[str, "np.dtype[Any]", tuple[int, ...]], ...], bytes]
"""Names, dtypes and shapes of an answer's arrays, and a digest of what is in them: the arrays would fill the memory."""


class SharedVerdicts:
    """Verdicts on answers to prepared runs, for `run_once`; each run is known by its case and dtype.

    A mistake shows in few cases; in all others it answers as the reference does, and the verdict is the same.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, _Bits], Verdict] = {}

    def judge(self, run: Run, answer: Answer) -> Verdict:
        """Return the verdict on an answer: `grade`, once for the same bits."""
        bits = _bits(answer)
        if bits is None:
            return grade(run, answer)
        key = (run.case.id, run.dtype, bits)
        if key not in self._known:
            self._known[key] = grade(run, answer)
        return self._known[key]


def _bits(answer: Answer) -> _Bits | None:
    """Return the bits of an answer that left everything alone that it was given and that it gave before."""
    if not isinstance(answer, Outputs) or answer.inputs_changed or answer.overwritten:
        return None
    digest = hashlib.blake2b(digest_size=16)
    for array in answer.values.values():
        digest.update(array.tobytes())
    return tuple((name, array.dtype, array.shape) for name, array in answer.values.items()), digest.digest()
