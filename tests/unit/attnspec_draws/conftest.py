"""What the tests of draws share: recipes by the hundred, and a run over drawn cases."""

from types import SimpleNamespace

import pytest

from attnspec.cases import suite_of_random
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.runner import run_suite
from attnspec_draws import Recipe
from attnspec_draws.generators.limits import Limits


@pytest.fixture(scope="session")
def recipes():
    """Make recipes of one operation: the first numbers of a seed."""

    def make(operation, count, dtype="float32", *, seed="tests", **limits):
        return [Recipe(operation, seed, number, Limits(dtype, **limits)) for number in range(count)]

    return make


@pytest.fixture(scope="session")
def results():
    """Run cases against an implementation, or against a function that is one by itself."""

    def run(cases, function):
        from attnspec.targets import load

        (operation,) = {case.operation for case in cases}
        implementation = load(SimpleNamespace(name="tested", dtypes=FLOAT_DTYPES, **{operation: function}))
        return run_suite(suite_of_random(cases), implementation)

    return run
