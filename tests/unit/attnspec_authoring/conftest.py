"""Cases, results and defects to hold against each other."""

import pytest

from attnspec.cases import load_suite
from attnspec_authoring.results import Defect
from attnspec_authoring.third_party import Outcome

CASE = "documents/001/softmax_of_rows"


@pytest.fixture(scope="session")
def cases():
    return load_suite(select=["documents/001/*"]).cases


@pytest.fixture
def result():
    """An entry of a report's results."""

    def make(**changes):
        entry = {"case": CASE, "operation": "softmax", "dtype": "float32", "status": "fail", "check": "values"}
        return entry | {"output": "output", "worst": None, "message": "too far"} | changes

    return make


@pytest.fixture
def defect():
    """A defect that the result is an instance of."""

    def make(**changes):
        entry = {
            "id": "sums_in_the_wrong_order",
            "title": "Sums in the wrong order",
            "implementations": ("torch", "jax"),
            "first_version": "2.13.0",
            "last_version": None,
            "cases": (CASE,),
            "states": (),
            "dtypes": ("float32",),
            "outputs": (),
            "sentence": "It sums in the wrong order.",
            "expected": "It prints 2.",
            "reproduction": "print(1)",
            "measured": "1",
            "link": None,
        }
        return Defect(**(entry | changes))

    return make


@pytest.fixture
def outcome(result):
    """What came of torch, with these results."""

    def make(*results, **changes):
        entry = {"name": "torch", "version": "2.13.0+cpu", "results": results, "seconds": 1.0, "problem": None}
        return Outcome(**(entry | changes))

    return make
