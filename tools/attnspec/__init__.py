"""attnspec: a golden-test specification suite for attention.

>>> import attnspec
>>> report = attnspec.validate("reference", select="documents/001/*")
>>> report.conforms
True
"""

# Names of this module are what completion shows; what is no part of the public API is hidden from it.
import typing as _typing

from attnspec.base import __version__
from attnspec.base.errors import AttnspecError, Unsupported

if _typing.TYPE_CHECKING:
    from attnspec.reports.report import Report
    from attnspec.targets.loading import features_first, load
    from attnspec.validation import validate
    from attnspec.validation.one_case import OneCase, case
    from attnspec_draws.judge import Conditions, JudgeReport, judge

__all__ = [
    "AttnspecError",
    "Conditions",
    "JudgeReport",
    "OneCase",
    "Report",
    "Unsupported",
    "__version__",
    "case",
    "features_first",
    "judge",
    "load",
    "validate",
]

_LAZY = {
    "Conditions": "attnspec_draws.judge",
    "JudgeReport": "attnspec_draws.judge",
    "OneCase": "attnspec.validation.one_case",
    "Report": "attnspec.reports.report",
    "case": "attnspec.validation.one_case",
    "features_first": "attnspec.targets.loading",
    "judge": "attnspec_draws.judge",
    "load": "attnspec.targets.loading",
    "validate": "attnspec.validation",
}


def __getattr__(name: str) -> _typing.Any:
    """Import the public names on first use, so that an adapter can import `Unsupported` at no cost."""
    if name in _LAZY:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return found
    raise AttributeError(f"module 'attnspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and no others, for `dir` and for the completion of a notebook."""
    return sorted(__all__)
