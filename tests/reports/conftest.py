"""Small reports as documents, for whatever reads them back."""

import copy

import pytest

import attnspec
from attnspec.reports import report_to_json


@pytest.fixture(scope="session")
def sound():
    """The report of the reference on a few cases."""
    return report_to_json(attnspec.validate("reference", select="documents/001/*", dtypes=["float64", "float32"]))


@pytest.fixture
def changed(sound):
    """Make a copy of the report in which some results differ: (case, dtype) to fields."""

    def change(changes=None, drop=()):
        document = copy.deepcopy(sound)
        document["results"] = [
            {**result, **(changes or {}).get((result["case"], result["dtype"]), {})}
            for result in document["results"]
            if (result["case"], result["dtype"]) not in drop
        ]
        return document

    return change
