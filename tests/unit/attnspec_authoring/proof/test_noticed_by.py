"""Which cases notice each mistake, as it is kept beside the catalogue."""

import random
from base64 import b64encode
from zlib import compress

import pytest

from attnspec.cases import load_suite
from attnspec_authoring.proof import noticed_document, run_matrix
from attnspec_authoring.proof.matrix import Matrix, Trial
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.kill_matrix import KEPT_IN, NOTICED, noticed_cases, tried_cases, was_tried

ADVICE = "write it anew: attnspec mistakes --matrix --write-noticed"
NUMBER_OF_MISTAKES, SEED = 16, 11


def test_bits_stand_for_cases_in_the_order_of_their_ids():
    wrong = {"float64": {"a/3": "values"}, "bfloat16": {}, "any": {"a/1": "values"}}
    trials = tuple(
        Trial(f"softmax.{name}", "mistake", "softmax", "softmax.definition", ("float64",), wrong)
        for name, wrong in (("some", wrong), ("another", {"float64": {}, "bfloat16": {"a/3": "values"}, "any": {}}))
    )
    cases = {"a/3": "softmax", "a/1": "softmax", "a/2": "causal_mask"}
    document = noticed_document(Matrix("0", "0", KEPT_IN, cases, {}, trials, 0.0))
    # A byte a mistake and two cases in it, the bits of the first one foremost: 00 and 11, 01 and 10.
    rows = {"float64": b"\x00\xc0", "bfloat16": b"\x40\x80"}
    noticed = {dtype: b64encode(compress(bits, level=9)).decode() for dtype, bits in rows.items()}
    assert document["operations"] == {
        "softmax": {"cases": ["a/1", "a/3"], "mistakes": ["softmax.another", "softmax.some"], "noticed": noticed}
    }


def test_every_mistake_and_every_case_is_in_the_file():
    cases = load_suite().cases.values()
    assert [mistake.id for mistake in CATALOGUE if not was_tried(mistake)] == [], ADVICE
    known = {case for mistake in CATALOGUE for case in tried_cases(mistake.operation)}
    assert sorted({case.id for case in cases} - known) == [], ADVICE


def test_halves_and_singles_are_read_as_what_they_are_like():
    assert noticed_cases("softmax", "float32") == noticed_cases("softmax", "float64")
    assert noticed_cases("softmax", "float16") == noticed_cases("softmax", "bfloat16")
    assert noticed_cases("no_such_operation", "float64") == {}
    assert tried_cases("no_such_operation") == frozenset()


@pytest.mark.proof
def test_the_file_holds_what_the_cases_notice():
    shown = [mistake.id for mistake in CATALOGUE if "float64" in mistake.shows_in]
    chosen = random.Random(SEED).sample(shown, NUMBER_OF_MISTAKES)
    for trial in run_matrix(dtypes=("float64",), only=chosen).trials:
        assert noticed_cases(trial.operation, "float64")[trial.id] == trial.noticed_by("float64").keys(), ADVICE
    assert NOTICED.stat().st_size < 400_000
