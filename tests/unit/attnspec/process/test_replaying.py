"""A transcript holds what was said, and a replay finds the first answer that differs from it."""

import contextlib
import json

import numpy as np
import pytest
from softmax_program import command_of

from attnspec.base.errors import UsageError
from attnspec.command_line import main
from attnspec.contract.implementation import Request
from attnspec.process.process import ProcessImplementation
from attnspec.process.replaying import replay
from attnspec.targets.target import Target

ROWS = Request("softmax", "float64", {"x": np.array([[0.0, 1.0], [2.0, np.inf]])}, {})


@pytest.fixture
def transcript(tmp_path):
    path = tmp_path / "transcript.jsonl"
    with contextlib.closing(ProcessImplementation(command_of(tmp_path), Target(transcript=path))) as implementation:
        for _ in range(3):
            implementation.run(ROWS)
    return path


def replayed(path, command, **limits):
    return replay(path, command, **{"timeout": 20, "start_timeout": 60} | limits)


def test_a_transcript_holds_every_message_both_ways_in_order(transcript):
    lines = [json.loads(line) for line in transcript.read_text("utf-8").splitlines()]
    said = [(line["from"], line["message"]["type"]) for line in lines]
    exchange = [("harness", "run"), ("program", "outputs")]
    assert said == [("harness", "start"), ("program", "started"), *exchange * 3, ("harness", "stop")]
    assert [line["message"].get("seq") for line in lines[2:8]] == [1, 1, 2, 2, 3, 3]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert lines[2]["message"]["inputs"]["x"]["data"] == [[0.0, 1.0], [2.0, "inf"]]


def test_what_is_no_message_stands_in_a_transcript_as_it_came(tmp_path):
    path = tmp_path / "transcript.jsonl"
    code = "\ndef at_third(request):\n    os.write(1, b'loss: 0.3\\xff\\n')\n"
    program = ProcessImplementation(command_of(tmp_path, code), Target(transcript=path))
    with contextlib.closing(program) as implementation:
        for _ in range(4):
            implementation.run(ROWS)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["line"] for line in lines if "line" in line] == ["loss: 0.3\ufffd\n"]
    assert [line["message"]["type"] for line in lines if "message" in line].count("start") == 2


def test_the_same_program_answers_the_same(transcript, tmp_path):
    done = replayed(transcript, command_of(tmp_path))
    assert (done.answers, done.difference) == (4, None)


DIFFERENCES = {
    "a number": (
        "answer(request, [[0.5, 0.5], [0.25, 0.75]])",
        "outputs.output.data[0][0]",
        "0.2689414213699951",
        "0.5",
    ),
    "another kind": (
        "send({'type': 'error', 'seq': request['seq'], 'message': 'no'})",
        "type",
        '"outputs"',
        '"error"',
    ),
    "one more field": ("answer(request, [[0, 1]] * 2, inputs_changed=['x'])", "outputs.output.data[0][0]", "0.2", "0"),
    "no answer": ("time.sleep(600)", "", '{"type"', "no answer within 1 seconds"),
    "its end": ("sys.exit('no memory')", "", '{"type"', "ended with exit code 1; last on its stderr:\n    no memory"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_first_answer_that_differs_is_shown(name, transcript, tmp_path):
    line, position, then, now = DIFFERENCES[name]
    (tmp_path / "program.py.again").unlink()
    command = command_of(tmp_path, f"\ndef at_third(request):\n    {line}\n")
    done = replayed(transcript, command, timeout=1 if name == "no answer" else 20)
    assert done.answers == 3
    difference = done.difference
    assert difference is not None
    assert (difference.line, difference.request["seq"], difference.path) == (7, 3, position)
    assert difference.then.startswith(then)
    assert now in difference.now


def test_another_version_of_a_program_is_no_difference_but_another_encoding_is(transcript, tmp_path):
    start = "\ndef on_start(request):\n    send({'type': 'started', 'protocol': 1, 'name': 'new', 'operations': [%s})\n"
    assert replayed(transcript, command_of(tmp_path, start % "'softmax'], 'version': '2'")).difference is None
    difference = replayed(transcript, command_of(tmp_path, start % "'softmax'], 'encoding': 'base64'")).difference
    assert difference is not None
    assert (difference.path, difference.then, difference.now) == ("encoding", '"list"', '"base64"')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no request"),
        ("loss: 0.3\n", "Line 1 of .* is none of a transcript"),
        ('{"seconds": 0, "from": "harness", "message": {"type": "sing"}}\n', "Line 1 of .* is no request"),
    ],
)
def test_a_file_that_is_no_transcript(text, sentence, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=sentence):
        replayed(path, command_of(tmp_path))


def test_the_commands_say_it_and_end_with_0_1_and_2(transcript, tmp_path, capsys):
    command = command_of(tmp_path)
    path = str(transcript)
    assert main(["protocol", "--replay", path, "--command", command]) == 0
    assert "All 4 answers are the same." in capsys.readouterr().out
    assert main(["protocol", "--check", command]) == 0
    assert "All 13 protocol checks passed." in capsys.readouterr().out
    worse = command_of(tmp_path, "\ndef on_run(request):\n    sys.exit('no')\n", name="worse.py")
    assert main(["protocol", "--replay", path, "--command", worse]) == 1
    assert "The request in line 3" in capsys.readouterr().out
    assert main(["protocol", "--check", worse]) == 1
    assert "FAULT  answers a request" in capsys.readouterr().out
    for words in (["--check", command, "--command", command], [], ["--replay", path], ["--check", "no-such-program"]):
        assert main(["protocol", *words]) == 2
    assert main(["protocol", "--replay", str(tmp_path / "missing"), "--command", command]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_options_for_programs_are_refused_for_what_runs_in_the_process(capsys, tmp_path):
    for option in (["--stderr"], ["--start-timeout", "3"], ["--transcript", str(tmp_path / "t")]):
        assert main(["validate", "reference", *option]) == 2
        assert f"{option[0]} is for a --command, or for a TARGET with --isolate" in capsys.readouterr().err


def test_stderr_is_shown_on_request_and_a_slow_start_is_waited_for(tmp_path, capsys):
    command = command_of(tmp_path, "\nprint('warming up', file=sys.stderr, flush=True)\ntime.sleep(0.2)\n")
    select = ("--select", "documents/001/softmax_of_rows")
    assert main(["validate", "--command", command, *select, "--stderr"]) == 0
    assert "warming up\n" in capsys.readouterr().err
    assert main(["validate", "--command", command, *select]) == 0
    assert "warming up" not in capsys.readouterr().err
    assert main(["validate", "--command", command, *select, "--start-timeout", "0.01"]) == 2
    assert "within 0.01 seconds; --start-timeout gives it longer" in capsys.readouterr().err


def test_a_transcript_that_cannot_be_written(tmp_path, capsys):
    words = ("--command", command_of(tmp_path), "--transcript", str(tmp_path / "no" / "folder"))
    assert main(["validate", *words]) == 2
    assert "cannot be written" in capsys.readouterr().err
