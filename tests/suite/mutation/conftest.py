"""The implementations that the suite is proven on, and who examines them."""

import pytest

from attnspec.cases import load_suite
from attnspec_authoring.mutation import Examiner


@pytest.fixture(scope="session")
def examiner():
    return Examiner(load_suite())
