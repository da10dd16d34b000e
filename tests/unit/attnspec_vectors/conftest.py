"""What the tests of vectors share: the documents of selected cases."""

import json

import pytest

from attnspec.cases import load_suite
from attnspec_vectors import vector_files


@pytest.fixture
def vectors():
    """The vectors of selected cases by id, as a reader of the text finds them."""

    def read(*select):
        documents = [json.loads(file.text) for file in vector_files(load_suite(select=select))]
        return {test["id"]: test for document in documents for test in document["tests"]}

    return read
