"""`--annotate`: what fails, as commands to GitHub's runner."""

import json

from attnspec.command_line import main

from .conftest import COLUMNS, ROWS


def annotations(capsys, *words):
    """Run the gate; give its status and the commands that it printed."""
    status = main(["gate", *map(str, words), "--annotate"])
    return status, [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]


def test_each_failing_case_is_an_error_with_its_sentence(checkout, capsys):
    checkout.adapter(columns="wrong")
    status, errors = annotations(capsys, "./mine.py", "--golden", checkout.golden)
    assert status == 1
    (error,) = errors
    assert error.startswith(
        f"::error title=attnspec%3A New failures::{COLUMNS} (float64, float32): fail: output[1, 1] "
    )


def test_nothing_is_annotated_where_nothing_fails(checkout, capsys):
    checkout.adapter(columns="wrong")
    checkout.update()
    words = ("./mine.py", "--golden", checkout.golden, "--baseline", checkout.baseline)
    assert annotations(capsys, *words) == (0, [])
    checkout.adapter()
    assert annotations(capsys, *words, "--lenient") == (0, [])
    assert annotations(capsys, *words)[0] == 1


def test_what_was_said_starts_no_command_of_its_own(checkout, capsys):
    checkout.adapter(rows="raises", message="50% of\n::error title=x::it\r\n%0A::add-mask::a")
    _, errors = annotations(capsys, "./mine.py", "--golden", checkout.golden)
    assert len(errors) == 1
    assert f"::{ROWS} (float64, float32): error: raised ValueError: 50%25 of ::error title=x::it %250A::" in errors[0]


def test_of_many_the_last_one_counts_the_rest(checkout, capsys):
    text = (checkout.folder / "mine.py").read_text("utf-8")
    (checkout.folder / "mine.py").write_text(text + "\n\ndef context_vector(*given, **named):\n    return 0\n", "utf-8")
    status, errors = annotations(capsys, "./mine.py", "--select", "*", "--report", "report.json")
    assert status == 1
    assert len(errors) == 10
    results = json.loads((checkout.folder / "report.json").read_text("utf-8"))["results"]
    wrong = {result["case"] for result in results if result["status"] not in ("pass", "unsupported")}
    rest = len(wrong) - 9
    assert errors[9] == f"::error title=attnspec%3A And more::{rest} more; the summary of the job has them."
