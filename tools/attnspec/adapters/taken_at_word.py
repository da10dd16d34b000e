"""An implementation of which its user says in which dtypes it is called, whatever it declares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.adapters.wrapped import Wrapped
from attnspec.dtypes import FLOAT_DTYPES

if TYPE_CHECKING:
    from attnspec.adapters.implementation import Declaration, Implementation


class CalledInEveryDtype(Wrapped):
    """An implementation that is asked in every dtype.

    Parameters
    ----------
    implementation
        The software under test.
    """

    def __init__(self, implementation: Implementation) -> None:
        super().__init__(implementation)
        self._declaration = replace(implementation.declaration, dtypes=FLOAT_DTYPES, dtypes_of={})

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself, with every dtype."""
        return self._declaration
