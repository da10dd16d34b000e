"""Subjects of trials: mistakes and controls as implementations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.process.opening import behind_layers
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target
from attnspec_controls import CONTROLS, Control
from attnspec_mistakes import CATALOGUE, Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.targets import Implementation


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
