"""``attnspec report``: side by side, with a broken file among them, and what changed between two."""

import json
from pathlib import Path

import pytest

import attnspec
from attnspec.cases import canonical_json
from attnspec.command_line import main
from attnspec.reports.formats import report_to_json

STUDENT = Path(__file__).parents[2] / "examples" / "student_softmax_axis_0.py"
SINGLE = "documents/000/single_head"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The paths of a right and of a wrong report."""
    folder = tmp_path_factory.mktemp("reports")
    for name, target in (("right", "reference"), ("wrong", str(STUDENT))):
        document = report_to_json(attnspec.validate(target, select="documents/00*"))
        (folder / f"{name}.json").write_text(canonical_json(document), "utf-8")
    return folder


@pytest.fixture
def run(capsys):
    def command(*arguments):
        status = main(["report", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return command


def test_one_report_is_reported_in_a_table(run, reports):
    status, out, err = run(reports / "right.json")
    assert (status, err) == (0, "")
    assert "attnspec reference" in out
    assert "conforms" in out


def test_several_reports_stand_side_by_side(run, reports, tmp_path):
    page = tmp_path / "page.html"
    status, out, err = run(reports / "wrong.json", reports / "right.json", "--html", page)
    assert (status, err) == (0, "")
    lines = [line for line in out.splitlines() if "conform" in line]
    assert "reference" in lines[0], "the most accurate first"
    assert "does not conform" in lines[1]
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "attnspec reference" in text


def test_a_broken_report_does_not_drop_the_others(run, reports, tmp_path):
    torn = tmp_path / "torn.json"
    torn.write_text((reports / "wrong.json").read_text("utf-8")[:-1000], "utf-8")
    page = tmp_path / "page.html"
    status, out, err = run(torn, reports / "right.json", "--html", page)
    assert status == 1
    assert "torn.json" in err
    assert "it seems to be cut off" in err
    assert "reference" in out
    assert "Left out: " in page.read_text("utf-8")
    assert "torn.json" in page.read_text("utf-8")


def test_when_no_report_is_sound_nothing_is_written(run, tmp_path):
    (tmp_path / "torn.json").write_text("{", "utf-8")
    status, out, err = run(tmp_path / "torn.json", tmp_path / "gone.json", "--html", tmp_path / "page.html")
    assert (status, out) == (2, "")
    assert "torn.json" in err
    assert "gone.json cannot be read" in err
    assert not (tmp_path / "page.html").exists()


def test_two_of_one_name_are_distinguished_by_their_files(run, reports, tmp_path):
    again = tmp_path / "again.json"
    again.write_bytes((reports / "right.json").read_bytes())
    _, out, _ = run(reports / "right.json", again)
    assert "(right.json)" in out
    assert "(again.json)" in out


def test_further_cases_are_drawn(run, reports, tmp_path):
    page = tmp_path / "page.html"
    assert run(reports / "right.json", "--html", page)[0] == 0
    without = page.stat().st_size
    assert run(reports / "right.json", "--html", page, "--detail", SINGLE)[0] == 0
    assert page.stat().st_size > without + 1000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Say which reports"),
        (["right.json", "--detail", SINGLE], "name the page with --html FILE"),
        (["right.json", "--compare", "right.json", "wrong.json"], "--compare OLD NEW stands alone"),
        (["right.json", "--html", "page.html", "--detail", "documents/000/singel_head"], "Did you mean"),
        (["right.json", "--html", "gone/page.html"], "could not be written"),
        (["--compare", "right.json", "gone.json"], "gone.json cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run, reports, monkeypatch, arguments, sentence):
    monkeypatch.chdir(reports)
    status, _, err = run(*arguments)
    assert status == 2
    assert sentence in err


def test_compare_says_what_changed(run, reports):
    status, out, err = run("--compare", reports / "right.json", reports / "wrong.json")
    assert (status, err) == (1, "")
    assert "newly wrong: " in out
    assert f"{SINGLE} (float64, float32)" in out
    assert "not offered any more: " in out
    assert "… and" in out
    assert "error / tolerance over" in out
    status, out, _ = run("--compare", reports / "wrong.json", reports / "right.json")
    assert status == 0
    assert "fixed: " in out
    assert "newly offered: " in out


def test_compare_finds_nothing_between_equals(run, reports):
    status, out, _ = run("--compare", reports / "right.json", reports / "right.json")
    assert status == 0
    assert out.startswith("No status changed.\n")


def test_compare_says_that_the_suites_differ(run, reports, tmp_path):
    document = json.loads((reports / "right.json").read_text("utf-8"))
    document["suite"]["digest"] = "0" * 64
    (tmp_path / "other.json").write_text(canonical_json(document), "utf-8")
    status, out, _ = run("--compare", tmp_path / "other.json", reports / "right.json")
    assert status == 0
    assert "different suites" in out
    assert "No status changed." in out


def test_a_hostile_name_is_harmless_on_the_console(run, reports, tmp_path):
    document = json.loads((reports / "right.json").read_text("utf-8"))
    document["implementation"]["name"] = "\x1b[2J\x00\u202e[bold]" + "x" * 10_000
    (tmp_path / "hostile.json").write_text(canonical_json(document), "utf-8")
    _, out, _ = run(tmp_path / "hostile.json")
    assert not {"\x1b", "\x00", "\u202e"} & set(out)
    assert "⟨001B⟩" in out
    assert len(out) < 2000
