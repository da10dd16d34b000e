"""A mistake: a wrong implementation that somebody might well write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.departures import Computation


@dataclass(frozen=True)
class Mistake:
    """One wrong implementation of one operation, and what to tell the one who wrote it.

    Attributes
    ----------
    id
        The operation's short name, a point, and the name of the mistake, such as ``sdpa.scale_missing``.
    operation
        Name of the operation that is implemented wrongly.
    clause
        Id of the clause of the specification that is violated.
    sentence
        What went wrong, in one plain sentence for a student.
    engineer
        What went wrong in the code, in one sentence for somebody who writes kernels.
    remedy
        What to do, in one plain sentence.
    function
        Computes what the mistake computes: it takes the operation's arguments by keyword and returns a mapping or a
        named tuple of outputs. It raises ``ValueError`` where the shapes do not allow the mistake.
    erratum
        Id of the erratum that tells of a document with this mistake, or None.
    source
        Address of a public report of this mistake, or None.
    shows_in
        Dtypes in which the cases must notice it. Most mistakes show in float64 and float32; what half precision
        shows beside that is measured, not promised.
    begin
        For a mistake that remembers earlier calls: makes an implementation that has not been called yet, and
        `function` is then what its first call computes. None for all others.
    in_layout
        For a mistake that can be made in layouts alone in which the operation has other arguments: each of these
        layouts to what takes the arguments that it has there. `function` is the first of them. Empty for all others,
        which can be made in every layout.
    """

    id: str
    operation: str
    clause: str
    sentence: str
    engineer: str
    remedy: str
    function: Computation
    erratum: str | None = None
    source: str | None = None
    shows_in: tuple[str, ...] = ("float64", "float32")
    begin: Callable[[], Computation] | None = None
    in_layout: Mapping[str, Computation] = field(default_factory=dict[str, "Computation"])

    @property
    def layout(self) -> str | None:
        """The layout in which `function` takes its arguments; None for the contract's own."""
        return next(iter(self.in_layout), None)

    def is_made_in(self, layout: str | None) -> bool:
        """Tell whether it can be made in a layout, by its name; None is the contract's own."""
        return not self.in_layout or layout in self.in_layout
