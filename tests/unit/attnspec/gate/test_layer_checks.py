"""Checks of a layer stand in a baseline as a failing case does, and leave it as one does."""

from dataclasses import replace

import numpy as np
import pytest

from attnspec.cases import load_suite, read_index
from attnspec.contract.implementation import LayerCheck
from attnspec.gate.decision import Demands, judge
from attnspec.gate.single_results import BesideBaseline
from attnspec.gate.updating import updated_baseline
from attnspec.runner import run_suite
from attnspec.targets.in_process import InProcessImplementation
from attnspec.validation import make_report

ID = "layer/causal_mask/cache"


class Layer:
    layer_checks = (LayerCheck("causal_mask", "multi_head.layer.cache", "float64", "with a cache, it is wrong"),)
    dtypes = ("float64",)

    def causal_mask(self, query_length, key_length=None, offset=0):
        return np.tril(np.ones((query_length, key_length or query_length), np.bool_), offset)


SUITE = load_suite(select=("pairs/causal_mask_square",))


@pytest.fixture(scope="module")
def wrong():
    found = InProcessImplementation(Layer(), "layer")
    return make_report(SUITE, found.declaration, run_suite(SUITE, found), conventions={})


@pytest.fixture
def right(wrong):
    unbroken = Layer.layer_checks[0]._replace(message="")
    declaration = replace(wrong.declaration, layer_checks=(unbroken,))
    return replace(wrong, declaration=declaration, results=[each for each in wrong.results if not each.is_of_run])


def findings(report, baseline):
    outcome = judge(report, baseline, Demands(), suite_ids=read_index(SUITE.folder), retired={})
    return outcome.is_open, [(found.kind, found.subject, found.dtype) for found in outcome.findings]


def test_without_a_baseline_it_closes_the_gate(wrong):
    assert findings(wrong, None) == (False, [("new failure", ID, "float64")])


def test_in_a_baseline_it_is_a_known_failure_until_it_is_right(wrong, right):
    baseline = updated_baseline(None, wrong, suite_ids=read_index(SUITE.folder))
    assert baseline is not None
    assert findings(wrong, baseline) == (True, [])
    assert findings(right, baseline) == (False, [("passes now", ID, "float64")])
    assert BesideBaseline(baseline, wrong.declaration, {}).contradicts_run(()) == ()
    beside = BesideBaseline(baseline, right.declaration, {})
    assert [found.kind for found in beside.contradicts_run(())] == ["passes now"]
