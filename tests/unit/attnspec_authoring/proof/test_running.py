"""Running mistakes and controls: what is noticed, when it stops, and in how many processes."""

import pytest

from attnspec.grading import grade
from attnspec_authoring.proof import run_matrix
from attnspec_authoring.proof.subjects import subjects
from attnspec_authoring.shared_verdicts import SharedVerdicts


def by_id(matrix):
    return {trial.id: trial for trial in matrix.trials}


def test_a_mistake_is_noticed_where_it_shows_and_named_by_the_failed_check(few):
    matrix = run_matrix(few, processes=1)
    trials = by_id(matrix)
    assert trials["softmax.no_maximum"].wrong["float64"] == {"layout/softmax_large": "values"}
    assert trials["split_heads.tokens_before_heads"].noticed_by("float32") == {"layout/split_heads_two": "shape"}
    assert trials["causal_mask.inverted"].noticed_by("float16") == {"layout/causal_mask_square": "values"}
    assert trials["sdpa.scale_missing"].wrong == {}
    assert all(trial.wrong == {} for trial in matrix.controls)


def test_the_trials_come_in_the_order_of_the_catalogue(few):
    chosen = ["softmax.no_maximum", "split_heads.interleaved", "softmax.online"]
    matrix = run_matrix(few, only=chosen, processes=1)
    assert [trial.id for trial in matrix.trials] == chosen
    assert [trial.kind for trial in matrix.trials] == ["mistake", "mistake", "control"]


def test_only_the_dtypes_that_are_requested_are_run(few):
    matrix = run_matrix(few, dtypes=("float32",), only=["softmax.not_normalised"], processes=1)
    assert set(by_id(matrix)["softmax.not_normalised"].wrong) == {"float32"}


def test_several_processes_find_what_one_finds(few):
    chosen = ["softmax.last_axis_always", "softmax.no_maximum", "causal_mask.inverted"]
    alone, together = (run_matrix(few, only=chosen, processes=count) for count in (1, 2))
    assert alone.trials == together.trials
    assert any(trial.wrong for trial in alone.trials)


def test_enough_is_enough_but_all_targeting_cases_run():
    mistake = "softmax.not_normalised"
    whole = by_id(run_matrix(only=[mistake], processes=1))[mistake]
    matrix = run_matrix(only=[mistake], enough=1, processes=1)
    stopped = by_id(matrix)[mistake]
    assert set(matrix.targets[mistake]) <= stopped.wrong["float64"].keys()
    assert stopped.wrong["float64"].keys() < whole.wrong["float64"].keys()
    assert "float16" not in stopped.wrong


def test_what_depends_on_earlier_calls_is_noticed_by_the_second_pass():
    matrix = run_matrix(select=("memory/repeated_*",), only=["sdpa.scale_remembered"], processes=1)
    checks = set(by_id(matrix)["sdpa.scale_remembered"].noticed_by("float64").values())
    assert checks
    assert checks <= {"values", "repeatable"}


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_is_reported_for_each_trial(few, processes):
    seen = []
    run_matrix(few, only=["softmax.online", "softmax.no_maximum"], processes=processes, progress=seen.append)
    assert sorted(trial.id for trial in seen) == ["softmax.no_maximum", "softmax.online"]


def test_a_dtype_that_need_not_be_whole_is_left_when_a_case_has_noticed():
    mistake = "softmax.not_normalised"
    whole = by_id(run_matrix(only=[mistake], processes=1))[mistake]
    matrix = run_matrix(only=[mistake], whole_in=("bfloat16",), processes=1)
    stopped = by_id(matrix)[mistake]
    for dtype in ("float64", "float32", "bfloat16"):
        assert stopped.wrong[dtype] == whole.wrong[dtype]
    assert 0 < len(stopped.wrong["float16"]) < len(whole.wrong["float16"])


def test_verdicts_that_are_shared_are_those_that_each_would_have(monkeypatch):
    select = ("layout/softmax_*", "documents/001/*", "memory/*softmax*", "causal/*", "rejects/*rank*")
    chosen = [subject.id for subject in subjects() if subject.operation == "softmax"]
    chosen += [
        subject.id for subject in subjects() if subject.id.startswith(("sdpa.rejects", "sdpa.causal", "sdpa.query"))
    ]
    shared = run_matrix(only=chosen, select=select, processes=1)
    monkeypatch.setattr(SharedVerdicts, "judge", lambda self, run, answer: grade(run, answer))
    alone = run_matrix(only=chosen, select=select, processes=1)
    assert shared.trials == alone.trials
    assert sum(bool(trial.wrong) for trial in shared.trials) > 5
