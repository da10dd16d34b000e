"""What was drawn: a case without its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Drawn:
    """A case without its answers.

    Attributes
    ----------
    inputs, attributes
        What is called with; floats are in float64, and every one of them is a number of the dtype of the draw.
    features
        What the case has that could be left out, so that a failure can be made smaller: each a word that
        `Limits.without` takes.
    extents
        Axis to its length, of those that could be shorter.
    clauses
        Clauses that it exercises.
    conventions
        The conventions on which what is owed depends.
    presentation
        Input name to the memory layout in which it is handed over.
    sample, thinned
        Output name to the flat indices, rising, of the elements that are owed, and to its whole shape, for a case that
        is too large to be held whole; empty for any other.
    left_open
        Outputs of which the page does not say what they hold in such a case.
    expected
        What is owed of a sample; None where the reference is to say it of the whole case.
    is_refused
        Whether it must be refused, by the clause that it has.
    changed
        The argument with which it is asked once more, changed alone, if what is owed changes with it.
    held
        What is not changed alone, since the page does not say what is owed with another value, or since something could
        come of it that is left out.
    others
        Attribute to another value that it may have, of those that have no other one by a rule.
    needed
        Attribute to the clause by which it is refused to leave it away, of those that cannot be.
    properties
        What its results must have, of a draw that is graded by properties; None for any other.
    """

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    features: tuple[str, ...]
    extents: Mapping[str, int]
    clauses: tuple[str, ...]
    conventions: tuple[str, ...] = ()
    memory_order: Mapping[str, str] = field(default_factory=dict[str, str])
    sample: Mapping[str, NDArray[np.int64]] = field(default_factory=dict[str, "NDArray[np.int64]"])
    thinned: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    left_open: tuple[str, ...] = ()
    expected: Mapping[str, NDArray[Any]] | None = None
    is_refused: bool = False
    changed: str | None = None
    held: frozenset[str] = frozenset()
    others: Mapping[str, Any] = field(default_factory=dict[str, Any])
    needed: Mapping[str, str] = field(default_factory=dict[str, str])
    properties: Mapping[str, Any] | None = None
