"""An implementation whose user says by what it is judged, whatever it declares itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.adapters.wrapped import Wrapped

if TYPE_CHECKING:
    from collections.abc import Collection

    from attnspec.adapters.implementation import Declaration, Implementation

_UNDECLARED = ("float64",)
"""The dtypes of who declares none."""


class HeldToOthers(Wrapped):
    """An implementation that is asked in the dtypes of its user alone, and held to no conventions of its own choice.

    Parameters
    ----------
    implementation
        The software under test. One that names no dtypes is asked in all that its user has.
    dtypes
        The dtypes of its user.
    is_trusted
        Whether it is known to do what it declares, so that it is held to its own conventions.
    """

    def __init__(self, implementation: Implementation, dtypes: Collection[str], *, is_trusted: bool) -> None:
        super().__init__(implementation)
        declared = implementation.declaration
        offered = tuple(dtypes) if declared.dtypes == _UNDECLARED else declared.dtypes
        self._declaration = replace(
            declared,
            conventions=declared.conventions if is_trusted else {},
            dtypes=tuple(dtype for dtype in offered if dtype in dtypes),
        )

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself, as far as it counts."""
        return self._declaration
