"""Subjects of trials, mistakes and controls as implementations; and right answers, whose verdicts they share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import attnspec_reference
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.grading import grade
from attnspec.process.opening import behind_layers
from attnspec.runner import run_once
from attnspec.targets import Outputs
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target
from attnspec_controls import CONTROLS, Control
from attnspec_mistakes import CATALOGUE, Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Suite
    from attnspec.grading import Verdict
    from attnspec.runner import Run
    from attnspec.targets import Answer, Implementation


Subject = Mistake | Control


def subjects() -> tuple[Subject, ...]:
    """Return every mistake of the catalogue, then every control."""
    return (*CATALOGUE, *CONTROLS)


def subject_of(identifier: str, kind: str) -> Subject:
    """Return a mistake or a control by its id."""
    catalogue: Sequence[Subject] = CATALOGUE if kind == "mistake" else CONTROLS
    return next(subject for subject in catalogue if subject.id == identifier)


def kind_of(subject: Subject) -> str:
    """Return ``mistake`` or ``control``."""
    return "mistake" if isinstance(subject, Mistake) else "control"


def remembers(subject: Subject) -> bool:
    """Return whether what a mistake computes depends on earlier calls."""
    return isinstance(subject, Mistake) and subject.begin is not None


def implementation_of(subject: Subject) -> Implementation:
    """Return an implementation that has not been called yet: it offers the subject's operation in every dtype.

    A subject for some layouts alone is called in the first of them.
    """
    begin = subject.begin if isinstance(subject, Mistake) else None
    function = subject.function if begin is None else begin()
    layout = subject.layout
    holder = SimpleNamespace(**{subject.operation: function}, name=subject.id, dtypes=FLOAT_DTYPES, layout=layout)
    return behind_layers(InProcessImplementation(holder, subject.id), Target())


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
