"""Rotary positions as the harness judges them."""

from __future__ import annotations

from attnspec.families.record import Family
from attnspec.families.rotary.case_features import features, turns_nothing
from attnspec.families.rotary.formulas import formula
from attnspec.families.rotary.overflowing import expected
from attnspec.families.rotary.tolerances import tolerance

FAMILY = Family(
    "rotary",
    tolerance=tolerance,
    features=features,
    formula=formula,
    expected=expected,
    shows_little=turns_nothing,
)
