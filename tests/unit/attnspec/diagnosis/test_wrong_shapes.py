"""Whatever the shape of an answer, its mistake is reported."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec_authoring.rotation import selection


def transposed(array):
    return array.T


def longer(array):
    return np.concatenate([array, array[..., -1:]], axis=-1) if array.ndim else array[np.newaxis]


def shorter(array):
    return array[..., :-1] if array.ndim else array[np.newaxis]


def flat(array):
    return array.reshape(-1)


def single(array):
    return array[(slice(None, 1),) * array.ndim] if array.ndim else array[np.newaxis]


def behind(array):
    return array[..., np.newaxis]


VECTORS = ("context_vector", "rotary_frequencies")
TRIED = 40
"""Cases of each operation that are tried, others with every change; all of them take ten minutes."""


@cache
def tried_cases(operation):
    cases = load_suite().cases.values()
    return sorted(selection((case.id for case in cases if case.operation == operation), TRIED))


def reshaped(change, operation):
    own = getattr(attnspec_reference, operation)

    def called(**arguments):
        found = own(**arguments)
        by_name = found._asdict() if hasattr(found, "_asdict") else {OPERATIONS[operation].outputs[0]: found}
        # What is expected alone is enough: the steps in between follow from it.
        return {name: change(np.asarray(array)) for name, array in by_name.items() if array is not None}

    return called


def test_an_empty_result_in_the_shape_of_the_query_is_reported():
    def scaled_dot_product_attention(**arguments):
        if not arguments["key"].shape[2]:
            return np.zeros_like(arguments["query"])
        return attnspec_reference.scaled_dot_product_attention(**arguments).output

    adapter = SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)
    report = attnspec.validate(adapter, select=["masking/no_keys*"])
    assert any("shape" in result.verdict.message for result in report.results if result.status == "fail")


@pytest.mark.proof
@pytest.mark.parametrize("change", [transposed, longer, shorter, flat, single, behind])
@pytest.mark.parametrize("operation", [name for name, of in OPERATIONS.items() if of.outputs])
def test_every_operation_may_return_any_shape(operation, change):
    adapter = SimpleNamespace(**{operation: reshaped(change, operation)})
    report = attnspec.validate(adapter, select=tried_cases(operation))
    failing = [result for result in report.results if result.status == "fail"]
    # A vector is its own transpose, and flat.
    assert failing or (operation in VECTORS and change in (transposed, flat))
    assert all(result.verdict.message for result in failing)
