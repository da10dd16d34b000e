"""One exception class for each kind of failure that keeps attnspec from running.

Every message quotes the offending input and says what to do; the command line prints it and ends with status 2.
A fault of the implementation is no exception but a verdict.
"""

from collections.abc import Iterable


class AttnspecError(Exception):
    """Base of every error that attnspec raises by itself."""

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the sentence says what to do, and no line of attnspec says more."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(AttnspecError):
    """An argument is unknown or contradicts another one."""


class TargetError(AttnspecError):
    """The implementation cannot be found, imported, started or used as an adapter."""


class ProtocolError(TargetError):
    """A process adapter could not agree with the harness on how to talk."""


class FixtureError(AttnspecError):
    """A golden file is damaged, unknown to the index, or does not follow its schema."""


class BaselineError(AttnspecError):
    """A baseline cannot be read or written, or is about another implementation."""


class RecipeError(AttnspecError):
    """An authored case contradicts itself or claims what its golden values do not bear out."""


class ReportError(AttnspecError):
    """A report.json cannot be read, does not follow its schema, or has lost results."""


class MissingDependencyError(AttnspecError):
    """An optional package is needed for this and is not installed."""


class Terminated(KeyboardInterrupt):
    """The signal, by its `number`, that ends this process."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Unsupported(Exception):  # noqa: N818 - adapters read better with `raise Unsupported(...)`
    """Raise this in an adapter for what the implementation does not offer; the case is ``unsupported``.

    Parameters
    ----------
    reason
        A few words for the report.
    """

    def __init__(self, reason: str = "not offered") -> None:
        super().__init__(reason)
        self.reason = reason


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """Return " Did you mean ...?" with the known words that come near, for the end of a message; empty for none."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=most)
    return f" Did you mean {', '.join(close)}?" if close else ""
