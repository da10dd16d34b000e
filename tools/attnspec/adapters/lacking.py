"""An implementation of which the user says that it lacks capabilities, beside those that it declares itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec import capabilities
from attnspec.adapters.wrapped import Wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.adapters.implementation import Declaration, Implementation


class Lacking(Wrapped):
    """An implementation that declares more to be lacking.

    Parameters
    ----------
    implementation
        The software under test.
    without
        The capabilities that it does not offer, beside those that it declares itself.

    Raises
    ------
    UsageError
        If one of them is no capability.
    """

    def __init__(self, implementation: Implementation, without: Sequence[str]) -> None:
        super().__init__(implementation)
        capabilities.check(without, said_by="The command")
        declared = implementation.declaration
        together = tuple(dict.fromkeys((*declared.without, *without)))
        self._declaration = replace(declared, without=together)

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself, with what the user says that it lacks."""
        return self._declaration
