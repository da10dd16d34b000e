"""Reproducing a case without attnspec: a short NumPy script that spells out its formula."""

from attnspec.reproduction.authored_cases import FoundCase, authored_cases
from attnspec.reproduction.python_script import MOST_LINES, python_script

__all__ = ["MOST_LINES", "FoundCase", "authored_cases", "python_script"]
