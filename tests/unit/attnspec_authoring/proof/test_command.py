"""``attnspec mistakes``."""

import json
import shutil

import pytest

from attnspec.command_line import main
from attnspec_mistakes import CATALOGUE, mistakes_of


def test_the_list_has_a_line_for_each_mistake(capsys):
    assert main(["mistakes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [mistake.id for mistake in CATALOGUE]


def test_the_list_can_be_that_of_one_operation(capsys):
    assert main(["mistakes", "--operation", "softmax"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == len(mistakes_of("softmax"))
    assert "The largest number was not subtracted" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operation", "softmin"], "no operation 'softmin'"),
        (["--write-matrix", "x.json"], "give --matrix, too"),
        (["--html", "x.html"], "give --matrix, too"),
        (["--write-smoke"], "give --matrix, too"),
        (["--write-noticed"], "give --matrix, too"),
        (["--matrix", "--golden", "/nowhere"], "no folder of golden files"),
    ],
)
def test_what_cannot_be_run_is_reported_in_a_sentence(arguments, words, capsys):
    assert main(["mistakes", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_matrix_says_what_survives_and_writes_json_page_and_core(few, tmp_path, capsys):
    data, page = tmp_path / "matrix.json", tmp_path / "matrix.html"
    few_cases = ["--golden", str(few), "--no-cache", "--processes", "1"]
    arguments = [*few_cases, "--write-matrix", str(data), "--html", str(page), "--write-smoke"]
    assert main(["mistakes", "--matrix", *arguments]) == 1
    out = capsys.readouterr().out
    assert "survives: sdpa.scale_missing in float64" in out
    assert "unexercised: no case exercises sdpa.scores" in out
    assert "survives: softmax.online" not in out
    assert json.loads(data.read_text())["suite"]["cases"] == 4
    assert page.read_text().startswith("<!DOCTYPE html>")
    core = json.loads((few / "smoke.json").read_text())
    assert set(core["cases"]) <= {"layout/softmax_columns", "layout/softmax_large", "layout/split_heads_two"} | {
        "layout/causal_mask_square"
    }
    assert main(["list", "--golden", str(few), "--profile", "smoke"]) == 0
    assert capsys.readouterr().out.count("\n") == len(core["cases"])


def test_a_file_that_cannot_be_written_is_reported_before_anything_runs(few, tmp_path, capsys):
    shutil.rmtree(few)
    assert main(["mistakes", "--matrix", "--golden", str(few), "--write-matrix", str(tmp_path / "no" / "x.json")]) == 2
    assert "x.json" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_after_all_is_reported_in_a_sentence(few, tmp_path, capsys):
    (tmp_path / "taken").mkdir()
    arguments = ["--golden", str(few), "--no-cache", "--processes", "1", "--write-matrix", str(tmp_path / "taken")]
    assert main(["mistakes", "--matrix", *arguments]) == 2
    assert capsys.readouterr().err == f"attnspec: {tmp_path / 'taken'} cannot be written: Is a directory.\n"
