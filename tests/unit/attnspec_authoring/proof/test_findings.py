"""What a matrix shows, on matrices made by hand."""

import pytest

from attnspec_authoring.proof import find

BOTH = {"float64": ("a/1", "a/2"), "float32": ("a/1", "a/2")}
TARGETED = {"softmax.m": ("a/1",)}
CLAUSES = ("softmax.definition",)


@pytest.fixture
def found(matrix):
    """Finds what a few trials show."""

    def find_in(*trials, targets=TARGETED, clauses=CLAUSES, exercised=CLAUSES):
        return find(matrix(trials, targets=targets), clauses, exercised)

    return find_in


def test_a_mistake_that_two_cases_notice_in_each_dtype_is_enough(found, trial):
    findings = found(trial("softmax.m", BOTH))
    assert findings.is_sound
    assert findings.surviving == ()


def test_a_mistake_that_one_case_notices_survives(found, trial):
    findings = found(trial("softmax.m", {**BOTH, "float32": ("a/1",)}))
    assert findings.surviving == (("softmax.m", "float32"),)
    assert not findings.is_sound


def test_a_case_without_floats_counts_in_every_dtype(found, trial):
    assert found(trial("softmax.m", {"any": ("a/1", "a/2")})).is_sound


def test_a_mistake_need_not_show_where_it_does_not_say_so(found, trial):
    assert found(trial("softmax.m", {"float64": ("a/1", "a/2")}, shows_in=("float64",))).is_sound


def test_a_target_that_does_not_catch_is_named(found, trial):
    findings = found(trial("softmax.m", BOTH), targets={"softmax.m": ("a/1", "a/3")})
    assert findings.missed_targets == (("a/3", "softmax.m"),)


def test_a_target_of_an_unknown_mistake_is_named(found, trial):
    findings = found(trial("softmax.m", BOTH), targets={**TARGETED, "softmax.gone": ("a/1",)})
    assert findings.missed_targets == (("a/1", "softmax.gone"),)


def test_a_mistake_without_a_target_is_named(found, trial):
    findings = found(trial("softmax.m", BOTH), targets={})
    assert findings.untargeted == ("softmax.m",)
    assert not findings.is_sound


def test_a_control_that_fails_is_named_with_case_and_dtype(found, trial):
    control = trial("softmax.right", {"bfloat16": ("a/2",)}, kind="control")
    findings = found(trial("softmax.m", BOTH), control)
    assert findings.failing_controls == (("softmax.right", "bfloat16", "a/2"),)
    assert not findings.is_sound


def test_clauses_need_a_case_and_a_mistake(found, trial):
    findings = found(
        trial("softmax.m", BOTH),
        clauses=("softmax.definition", "softmax.other", "softmax.third"),
        exercised=("softmax.definition", "softmax.third"),
    )
    assert findings.unexercised == ("softmax.other",)
    assert findings.unbroken == ("softmax.other", "softmax.third")


def test_what_half_precision_does_not_show_is_reported(found, trial):
    findings = found(trial("softmax.m", {**BOTH, "float16": ("a/1",)}))
    assert findings.unseen == {"softmax.m": ("bfloat16",)}


def test_a_case_is_redundant_when_another_notices_all_that_it_notices(found, trial):
    first = trial("softmax.m", {"float64": ("a/1", "a/2"), "float32": ("a/1", "a/2")})
    second = trial("softmax.n", {"float64": ("a/1", "a/3"), "float32": ("a/1", "a/3")})
    assert found(first, second).redundant == {"a/2": "a/1", "a/3": "a/1"}


def test_of_two_cases_that_notice_the_same_one_stays(found, trial):
    assert found(trial("softmax.m", BOTH)).redundant == {"a/2": "a/1", "a/3": "a/1"}
