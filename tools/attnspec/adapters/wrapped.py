"""An implementation behind another one, which changes how it is asked and leaves the rest as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.adapters.implementation import finish, hear_out

if TYPE_CHECKING:
    from attnspec.adapters.implementation import Answer, Declaration, Implementation, Request


class Wrapped:
    """An implementation that passes on all it is asked; a subclass says what it does otherwise.

    Parameters
    ----------
    implementation
        The software under test.
    """

    def __init__(self, implementation: Implementation) -> None:
        self._implementation = implementation

    @property
    def declaration(self) -> Declaration:
        """What the implementation says about itself."""
        return self._implementation.declaration

    def run(self, request: Request) -> Answer:
        """Answer one request."""
        return self._implementation.run(request)

    def hear_out(self) -> None:
        """Look at what has come since the last answer."""
        hear_out(self._implementation)

    def finish(self) -> None:
        """Have the implementation end, and hear all that it still says."""
        finish(self._implementation)

    def close(self) -> None:
        """Close the implementation."""
        self._implementation.close()
