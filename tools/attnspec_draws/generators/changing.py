"""The argument with which a drawn case is asked once more, changed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import HALF_PRECISION

if TYPE_CHECKING:
    from collections.abc import Collection

    from attnspec_draws.generators.drawn import Drawn
    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words

CHANGED = "changed_argument"
"""The word for a case that is asked once more with another argument."""

_CHANGED = 16
"""Of a hundred draws, how many are."""

_OF_EVERY_CASE, _OPTIONAL = 1, 4
"""Weights of required and optional inputs: the key of a memory forgets the inputs that few calls have."""


def argument_to_change(words: Words, drawn: Drawn, limits: Limits, always: Collection[str]) -> str | None:
    """Choose the argument that is changed, or, for most draws, none; `always` names the operation's required inputs.

    In half precision it is none: what overflows there may be the same number, whatever it comes from.
    """
    stream = words.of(CHANGED)
    if not stream.percent(_CHANGED) or not limits.allow(CHANGED) or limits.dtype in HALF_PRECISION:
        return None
    others = (name for name, value in drawn.attributes.items() if other_value(value) != value)
    stated = (name for name, value in drawn.others.items() if limits.allow(f"{name}={value}"))
    candidates = sorted({*drawn.inputs, *others, *stated} - drawn.held)
    weights = {name: _OF_EVERY_CASE if name in always else _OPTIONAL for name in candidates}
    return stream.weighted(weights) if candidates else None


def other_value(value: Any) -> Any:
    """Return what an attribute becomes that is changed: false for true, twice a fraction, and itself for any other."""
    if value is True:
        return False
    return 2 * value if isinstance(value, float) else value
