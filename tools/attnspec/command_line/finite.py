"""Finite numbers of the command line: a limit that is infinite or NaN is never kept."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import Context, Parameter


class FiniteRange(click.FloatRange):
    """A number within a range, which is neither infinite nor NaN."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Read a number."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not finite: write a number such as 10.", param, ctx)
        return number
