"""Drawn case without its answers, and the argument of it that a second call changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attnspec.contract.dtypes import HALF_PRECISION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words


@dataclass(frozen=True)
class Drawn:
    """Case without its answers; floats are float64, each a number of the draw's dtype.

    `features` are words of `Limits.without`, by which a failure can be made smaller; `extents` has axes that could be
    shorter; `conventions` those on which the expected results depend; `memory_order` that of an input.

    Of a case too large to be stored whole: `sample` has output to the flat, rising indices of the expected elements,
    `thinned` output to its whole shape, `expected` the sample's values (None where the reference computes all).

    `left_open` are outputs that the page leaves open in such a case; `is_refused` means refused by the clause it has.
    `changed` is the argument that is changed alone in a second call, if expected results change with it; `unchanged`
    never are, since the page leaves that open or something left out could come of it; `others` has attributes' other
    values where no rule gives them; `needed` attributes to the clause by which leaving them away is refused.
    `properties` is what results must have in a draw graded by properties; else None.
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
    unchanged: frozenset[str] = frozenset()
    others: Mapping[str, Any] = field(default_factory=dict[str, Any])
    needed: Mapping[str, str] = field(default_factory=dict[str, str])
    properties: Mapping[str, Any] | None = None


def those(named: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the features, clauses or conventions that a case has."""
    return tuple(name for name, has in named.items() if has)


CHANGED = "changed_argument"
"""The word for a case that is called once more with another argument."""

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
    candidates = sorted({*drawn.inputs, *others, *stated} - drawn.unchanged)
    weights = {name: _OF_EVERY_CASE if name in always else _OPTIONAL for name in candidates}
    return stream.weighted(weights) if candidates else None


def other_value(value: Any) -> Any:
    """Return what an attribute becomes that is changed: false for true, twice a fraction, and itself for any other."""
    if value is True:
        return False
    return 2 * value if isinstance(value, float) else value
