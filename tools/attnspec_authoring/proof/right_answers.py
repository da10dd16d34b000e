"""The verdicts on what the reference answers, for all those mistakes that answer a run to the last bit as it does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import attnspec_reference
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.grading import grade
from attnspec.runner import run_once
from attnspec.targets import Outputs
from attnspec.targets.in_process import InProcessImplementation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Suite
    from attnspec.grading import Verdict
    from attnspec.runner import Run
    from attnspec.targets import Answer

_Bits = dict[str, tuple[np.dtype[Any], tuple[int, ...], bytes]]


class _Known(NamedTuple):
    """Answers of the reference, and their verdicts."""

    bits: _Bits
    verdict: Verdict


class RightAnswers:
    """Right answers of the reference to prepared runs of one operation, each graded once.

    A mistake shows in few cases; in all others it answers as the reference does, and the verdict is the same.
    """

    def __init__(self, runs: Sequence[Run], suite: Suite) -> None:
        self._known: dict[tuple[str, str], _Known] = {}
        if not runs:
            return
        operation = runs[0].operation.name
        holder = SimpleNamespace(**{operation: getattr(attnspec_reference, operation)}, dtypes=FLOAT_DTYPES)
        run_once(runs, suite, InProcessImplementation(holder, "reference"), self._remember)

    def judge(self, run: Run, answer: Answer) -> Verdict:
        """Return the verdict on an answer to one of the runs, or to any other."""
        known = self._known.get((run.case.id, run.dtype))
        return known.verdict if known is not None and _untouched(answer) == known.bits else grade(run, answer)

    def _remember(self, run: Run, answer: Answer) -> Verdict:
        verdict, bits = grade(run, answer), _untouched(answer)
        if bits is not None:
            self._known[run.case.id, run.dtype] = _Known(bits, verdict)
        return verdict


def _untouched(answer: Answer) -> _Bits | None:
    """Return the bits of an answer that left everything alone that it was given and that it gave before."""
    if not isinstance(answer, Outputs) or answer.inputs_changed or answer.overwritten:
        return None
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in answer.values.items()}
