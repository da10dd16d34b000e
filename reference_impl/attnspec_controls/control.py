"""A control: a right implementation that computes in another way than the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec_mistakes.patches import Computation


@dataclass(frozen=True)
class Control:
    """One right implementation of one operation that no case may fail.

    Attributes
    ----------
    id
        The operation's short name, a point, and the name of the control, such as ``sdpa.online_softmax_tiles_of_2``.
    operation
        Name of the operation.
    sentence
        In what it differs from the reference, in one plain sentence.
    function
        Takes the operation's arguments by keyword and returns a mapping or a named tuple of outputs, in the dtype of
        the inputs. float64 and float32 are computed in themselves, half precision inside float32.
    layout
        The layout whose arguments it takes; None for the contract's own.
    """

    id: str
    operation: str
    sentence: str
    function: Computation
    layout: str | None = None
