"""The implementations that the suite is proven on, and who examines them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnspec.cases import load_suite
from mutation import Examiner

sys.path.insert(0, str(Path(__file__).parents[1] / "implementations"))

CONTESTED = "nonfinite/infinities_in_queries"
"""It owes NaN to a row whose every score is minus infinity, which right implementations may leave empty."""


@pytest.fixture(scope="session")
def examiner():
    return Examiner(load_suite())


@pytest.fixture(scope="session")
def uncontested():
    """The same without the contested case."""
    suite = load_suite()
    return Examiner(replace(suite, cases={name: case for name, case in suite.cases.items() if name != CONTESTED}))
