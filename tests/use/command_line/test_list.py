"""``attnspec list``: which cases there are, narrowed by what they are about."""

import json

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main

CASES = load_suite(whole=True).cases


@pytest.fixture
def listed(capsys):
    def run(*options):
        assert main(["list", *options]) == 0
        return [line.split()[0] for line in capsys.readouterr().out.splitlines()]

    return run


def test_all_cases_are_listed_with_their_titles(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CASES)
    assert lines[0].endswith(next(iter(CASES.values())).title)


def test_an_operation_a_clause_and_a_profile_narrow_it(listed):
    assert listed("--operation", "softmax") == [case.id for case in CASES.values() if case.operation == "softmax"]
    clause = "sdpa.window.left"
    exercising = [case.id for case in CASES.values() if clause in case.clauses]
    assert listed("--clause", clause) == exercising
    assert listed("--clause", clause, "--profile", "alibi") == [
        case for case in exercising if case.startswith("alibi/")
    ]


def test_several_of_a_kind_are_all_listed(listed):
    both = {*listed("--operation", "softmax"), *listed("--operation", "causal_mask")}
    assert set(listed("--operation", "softmax", "--operation", "causal_mask")) == both


def test_a_mistake_lists_the_cases_that_notice_it(listed):
    noticing = listed("--mistake", "sdpa.sinks_capped")
    targets = [case.id for case in CASES.values() if "sdpa.sinks_capped" in case.targets]
    assert targets
    assert set(targets) <= set(noticing)
    assert len(noticing) < len(CASES) / 10


def test_json_is_one_document(capsys):
    assert main(["list", "--operation", "causal_mask", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert {entry["operation"] for entry in entries} == {"causal_mask"}
    assert entries[0].keys() >= {"id", "title", "profile", "dtypes", "clauses", "conventions"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--operation", "sofmax"], "--operation sofmax: there is no such operation. Did you mean softmax?"),
        (["--clause", "sdpa.window.lef"], "Did you mean sdpa.window.left"),
        (["--mistake", "sdpa.sinks_caped"], "Did you mean sdpa.sinks_capped"),
        (["--operation", "softmax", "--profile", "alibi"], "No case is all of this"),
    ],
)
def test_what_matches_nothing_is_said_in_a_sentence(capsys, options, sentence):
    assert main(["list", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
