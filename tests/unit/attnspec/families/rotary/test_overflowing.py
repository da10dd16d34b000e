"""Who rounds the products of a rotation to float16 declares that they may leave it; nobody else may let them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_reference.rotary.apply_rotary import pairs_of, put_back

SUITE = load_suite()
BEYOND = [case for case in SUITE.cases if case.startswith("rotary/apply_products_beyond_float16_")]
OPEN = {"half_precision_overflow": "open"}


def apply_rotary(x, cos, sin, pairing="half"):
    """Rotate in the dtype of the features, product by product."""
    first, second = pairs_of(x[..., : 2 * cos.shape[-1]], pairing)
    cos, sin = cos[:, np.newaxis], sin[:, np.newaxis]
    return put_back(cos * first - sin * second, sin * first + cos * second, pairing, x[..., 2 * cos.shape[-1] :])


def statuses(function, cases, dtype, conventions):
    holder = SimpleNamespace(apply_rotary=function, dtypes=(dtype,), conventions=conventions)
    return {
        result.status for result in run_suite(replace(SUITE, cases={c: SUITE.cases[c] for c in cases}), load(holder))
    }


@pytest.mark.parametrize(("conventions", "status"), [({}, "fail"), (OPEN, "pass")])
def test_products_beyond_float16_are_declared(conventions, status):
    assert len(BEYOND) == 2
    assert statuses(apply_rotary, BEYOND, "float16", conventions) == {status}


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_in_wider_dtypes_the_declaration_leaves_nothing_open(dtype):
    def wrong(x, cos, sin, pairing="half"):
        return apply_rotary(x, cos, sin, pairing) * 2

    assert statuses(apply_rotary, BEYOND, dtype, OPEN) == {"pass"}
    assert statuses(wrong, BEYOND, dtype, OPEN) == {"fail"}


def test_features_without_such_a_product_are_graded_all_the_same():
    def second_doubled(x, cos, sin, pairing="half"):
        first, second = pairs_of(apply_rotary(x, cos, sin, pairing), pairing)
        return put_back(first, second * 2, pairing, x[..., x.shape[-1] :])

    assert statuses(second_doubled, BEYOND, "float16", OPEN) == {"fail"}
