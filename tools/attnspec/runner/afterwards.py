"""What an implementation says after it has answered: it belongs to that answer, however late it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.comparison import Verdict
from attnspec.runner.following import OCCASIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.comparison import Run
    from attnspec.runner.following import Follower, Key, Occasion
    from attnspec.runner.result import Result


class Afterwards:
    """A follower that makes a result malformed when more than the answer is found to have come.

    Parameters
    ----------
    another
        Who else follows the run.
    """

    def __init__(self, another: Follower | None = None) -> None:
        self._another = another
        self._told: dict[Key, Result] = {}
        self._found: dict[Key, str] = {}

    @property
    def is_silent(self) -> bool:
        """Whether nothing was found so far."""
        return not self._found

    def asks(self, run: Run, occasion: Occasion) -> None:
        """Pass it on."""
        if self._another is not None:
            self._another.asks(run, occasion)

    def has(self, result: Result) -> None:
        """Pass it on, with what was found after its answer."""
        self._told[result.case.id, result.dtype] = result
        if self._another is not None:
            self._another.has(self.amended(result))

    def listener(self, run: Run, occasion: Occasion) -> Callable[[str], None]:
        """Return whom to tell what follows an answer that was asked on behalf of a run."""
        key = (run.case.id, run.dtype)

        def found(sentence: str) -> None:
            self._found.setdefault(key, f"{OCCASIONS[occasion]}{sentence}")
            if key in self._told:
                self.has(self._told[key])

        return found

    def amended(self, result: Result) -> Result:
        """Return a result with what was found after its answer."""
        sentence = self._found.get((result.case.id, result.dtype))
        if sentence is None:
            return result
        return result._replace(verdict=Verdict("malformed", message=sentence), got=None, same_bits=None)
