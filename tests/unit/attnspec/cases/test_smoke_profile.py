"""The profile ``smoke``: cases of other profiles, named in a file."""

import json
import shutil
from pathlib import Path

import pytest

from attnspec.base.errors import FixtureError, UsageError
from attnspec.cases import load_suite
from attnspec.cases.reading import ORDER, SMOKE
from attnspec.cases.selecting import order_text, smoke_text
from attnspec.command_line import main

GOLDEN = Path(__file__).parents[4] / "golden"
CASES = ("layout/softmax_columns", "layout/softmax_large", "core/width_2")


@pytest.fixture
def folder(tmp_path):
    for case_id in CASES:
        path = tmp_path / f"{case_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / f"{case_id}.json", path)
    (tmp_path / SMOKE).write_text(smoke_text([CASES[2], CASES[0]]))
    return tmp_path


def test_the_profile_holds_the_cases_that_the_file_names(folder):
    suite = load_suite(folder, profiles=("smoke",))
    assert tuple(suite.cases) == ("core/width_2", "layout/softmax_columns")
    assert {case.profile for case in suite.cases.values()} == {"core", "layout"}


def test_the_profile_goes_together_with_others_and_with_patterns(folder):
    assert len(load_suite(folder, profiles=("smoke", "layout")).cases) == 3
    assert tuple(load_suite(folder, profiles=("smoke",), select=("layout/*",)).cases) == ("layout/softmax_columns",)


def test_the_file_is_no_case(folder):
    assert set(load_suite(folder).cases) == set(CASES)


def test_a_folder_without_the_file_has_no_such_profile(folder):
    (folder / SMOKE).unlink()
    with pytest.raises(UsageError, match="no profile 'smoke'"):
        load_suite(folder, profiles=("smoke",))


def test_a_case_that_does_not_exist_is_named(folder):
    (folder / SMOKE).write_text(smoke_text(["layout/gone"]))
    with pytest.raises(FixtureError, match=r"'layout/gone', which does not exist.*--write-smoke"):
        load_suite(folder, profiles=("smoke",))


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"format": 1, "cases": "x"}', '{"format": 2, "cases": ["a/b"]}', '{"format": 1}']
)
def test_a_damaged_file_is_reported_in_a_sentence(folder, text):
    (folder / SMOKE).write_text(text)
    with pytest.raises(FixtureError, match=r"smoke\.json"):
        load_suite(folder, profiles=("smoke",))


def test_the_text_is_canonical_and_sorted():
    assert json.loads(smoke_text(["b/2", "a/1"])) == {"format": 1, "cases": ["a/1", "b/2"]}
    assert smoke_text(["b/2", "a/1"]).endswith("}\n")


def test_the_shipped_profile_is_listed_and_validated(capsys):
    assert main(["list", "--profile", "smoke"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(json.loads((GOLDEN / SMOKE).read_text())["cases"]) > 10
    assert main(["validate", "reference", "--profile", "smoke", "--quiet"]) == 0


def test_the_cases_of_the_record_are_called_first_in_its_order_and_the_others_by_id(folder):
    assert [case.id for case in load_suite(folder).in_calling_order] == sorted(CASES)
    (folder / ORDER).write_text(order_text([CASES[1], "gone/since", CASES[2]]))
    suite = load_suite(folder)
    assert [case.id for case in suite.in_calling_order] == [CASES[1], CASES[2], CASES[0]]
    assert suite.core == (CASES[1], CASES[2])
    assert tuple(suite.cases) == tuple(sorted(CASES))


def test_a_damaged_record_of_the_order_is_reported_in_a_sentence(folder):
    (folder / ORDER).write_text("[]")
    with pytest.raises(FixtureError, match=r"order\.json"):
        load_suite(folder)
