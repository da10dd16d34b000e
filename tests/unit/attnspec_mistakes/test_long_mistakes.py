"""Mistakes at length: each is caught by every case that is there to catch it, and attention in tiles is right."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from attnspec.cases import in_run_dtype, load_suite
from attnspec.contract.implementation import Outputs
from attnspec.grading import grade
from attnspec.validation.one_case import run_of
from attnspec_authoring.rotation import selection
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.attention.long_mistakes import MISTAKES, Tiles
from attnspec_reference import scaled_dot_product_attention

QUICK = ("long/thousands/causal_1000", "long/thousands/decode_16384", "long/thousands/past_5000")
TRIED = 6
"""Of the other cases, those that the proof tries, others with every change: some fifteen seconds each."""
CASES = load_suite(profiles=("long",)).cases
BY_ID = {mistake.id: mistake for mistake in MISTAKES}


@cache
def requested(case_id, dtype):
    """The run of a case, what it is called with, and the queries that its sample names."""
    case = CASES[case_id]
    rows = np.unique(case.sample["output"] // case.thinned["output"][-1] % case.thinned["output"][2])
    return run_of(case, dtype, {}), {**in_run_dtype(case.inputs, dtype), **case.attributes}, rows


def verdict(function, case_id, dtype):
    run, arguments, rows = requested(case_id, dtype)
    return grade(run, Outputs(dict(function.of_rows(arguments, rows))))


def of_all(cases):
    others = selection(cases.keys() - QUICK, TRIED)
    return [*QUICK, *(pytest.param(case_id, marks=pytest.mark.proof) for case_id in sorted(others))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case_id", of_all(CASES))
def test_every_case_catches_what_it_targets(case_id, dtype):
    missed = [
        target for target in CASES[case_id].targets if verdict(BY_ID[target].function, case_id, dtype).status != "fail"
    ]
    assert CASES[case_id].targets
    assert not missed


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("case_id", of_all(CASES))
def test_attention_in_tiles_passes(case_id, dtype):
    for tiles in (Tiles(), Tiles(tile=1024, parts=7)):
        found = verdict(tiles, case_id, dtype)
        assert found.status == "pass", found.message


def test_every_mistake_is_the_target_of_two_cases_at_least():
    for mistake in MISTAKES:
        targeted = [case.id for case in CASES.values() if mistake.id in case.targets]
        assert len(targeted) >= 2, mistake.id


def test_ids_are_of_no_mistake_of_the_catalogue():
    assert not BY_ID.keys() & {mistake.id for mistake in CATALOGUE}
    assert len(BY_ID) == len(MISTAKES) >= 10
    for mistake in MISTAKES:
        assert re.fullmatch(r"sdpa\.long_[a-z0-9_]+", mistake.id)
        assert all(sentence.endswith(".") for sentence in (mistake.sentence, mistake.engineer, mistake.remedy))


EXTRAS = {
    "causal": {"is_causal": True},
    "window": {"window": [30, 5], "is_causal": False},
    "sinks": {"sinks": np.array([0.5, -1.0]), "softcap": 2.0},
    "alibi": {"alibi_slopes": np.array([0.25, 0.5]), "is_causal": True},
    "lengths": {
        "key_lengths": np.array([70, 33]),
        "query_lengths": np.array([40, 20]),
        "is_causal": True,
        "causal_alignment": "bottom_right",
    },
}


@pytest.mark.parametrize("name", EXTRAS)
@pytest.mark.parametrize("parts", [1, 3])
def test_tiles_compute_what_the_reference_computes(name, parts):
    random = np.random.default_rng(5)
    arguments = {
        "query": random.normal(size=(2, 2, 40, 4)),
        "key": random.normal(size=(2, 1, 70, 4)),
        "value": random.normal(size=(2, 1, 70, 3)),
        **EXTRAS[name],
    }
    expected, got = scaled_dot_product_attention(**arguments), Tiles(tile=16, parts=parts)(**arguments)
    np.testing.assert_allclose(got["output"], expected.output, atol=1e-14)
    np.testing.assert_allclose(got["logsumexp"], expected.logsumexp, atol=1e-14)
