"""Drawn case without its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Drawn:
    """Case without its answers; floats are float64, each a number of the draw's dtype.

    `features` are words of `Limits.without`, by which a failure can be made smaller; `extents` has axes that could be
    shorter; `conventions` those on which the expected results depend; `memory_order` that of an input.

    Of a case too large to be held whole: `sample` has output to the flat, rising indices of the expected elements,
    `thinned` output to its whole shape, `expected` the sample's values (None where the reference computes all).

    `left_open` are outputs that the page leaves open in such a case; `is_refused` means refused by the clause it has.
    `changed` is the argument that is changed alone in a second call, if the expected results change with it; `held` are
    never changed so, since the page leaves that open or something left out could come of it; `others` has attributes'
    other values where no rule gives them; `needed` attributes to the clause by which leaving them away is refused.
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
    held: frozenset[str] = frozenset()
    others: Mapping[str, Any] = field(default_factory=dict[str, Any])
    needed: Mapping[str, str] = field(default_factory=dict[str, str])
    properties: Mapping[str, Any] | None = None
