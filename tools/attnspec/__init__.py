"""attnspec: a golden-test specification suite for attention.

>>> import attnspec
>>> report = attnspec.validate("reference", select="documents/001/*")
>>> report.conforms
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.errors import AttnspecError, Unsupported
from attnspec.version import __version__

if TYPE_CHECKING:
    from attnspec.adapters.layouts import features_first
    from attnspec.adapters.loading import load
    from attnspec.judgement import Conditions, Judgement, judge
    from attnspec.one_case import OneCase, case
    from attnspec.reports.report import Report
    from attnspec.validation import validate

__all__ = [
    "AttnspecError",
    "Conditions",
    "Judgement",
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
    "Conditions": "attnspec.judgement",
    "Judgement": "attnspec.judgement",
    "OneCase": "attnspec.one_case",
    "Report": "attnspec.reports.report",
    "case": "attnspec.one_case",
    "features_first": "attnspec.adapters.layouts",
    "judge": "attnspec.judgement",
    "load": "attnspec.adapters.loading",
    "validate": "attnspec.validation",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that an adapter can import `Unsupported` at no cost."""
    if name in _LAZY:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return found
    raise AttributeError(f"module 'attnspec' has no attribute {name!r}")
