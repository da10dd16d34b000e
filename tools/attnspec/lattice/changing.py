"""The argument with which a drawn case is asked once more, changed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.dtypes import HALF_PRECISION

if TYPE_CHECKING:
    from attnspec.lattice.drawn import Drawn
    from attnspec.lattice.limits import Limits
    from attnspec.lattice.words import Words

CHANGED = "changed_argument"
"""The word for a case that is asked once more with another argument."""

_CHANGED = 12
"""Of a hundred draws, how many are."""


def argument_to_change(words: Words, drawn: Drawn, limits: Limits) -> str | None:
    """Choose the argument that is changed, or, for most draws, none.

    In half precision it is none: what overflows there may be the same number, whatever it comes from.

    Parameters
    ----------
    words, limits
        The streams of the draw, and what it keeps to.
    drawn
        What was drawn.
    """
    stream = words.of(CHANGED)
    if not stream.percent(_CHANGED) or not limits.allow(CHANGED) or limits.dtype in HALF_PRECISION:
        return None
    others = (name for name, value in drawn.attributes.items() if other_value(value) != value)
    candidates = sorted({*drawn.inputs, *others, *drawn.others} - drawn.held)
    return stream.one_of(candidates) if candidates else None


def other_value(value: Any) -> Any:
    """Return what an attribute becomes that is changed: false for true, twice a fraction, and itself for any other."""
    if value is True:
        return False
    return 2 * value if isinstance(value, float) else value
