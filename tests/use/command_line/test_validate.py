"""`attnspec validate`: exit statuses, sentences for bad input, processes that hang or crash."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attnspec.command_line import main

RIGHT = """
import numpy as np

def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""

HANGS_AND_CRASHES = (
    RIGHT
    + """
import os, time
right = softmax

def softmax(x, axis=-1):
    if x.shape == (3, 3):
        time.sleep(60)
    if axis == 0:
        os._exit(7)
    return right(x, axis)
"""
)

ROWS = "documents/001/softmax_of_rows"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file of the working folder; what loading it leaves behind is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write_file(name, text):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), "utf-8")
        return path

    write_file("right.py", RIGHT)
    yield write_file
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def attnspec(write, capsys):
    """Run the command line in a folder that holds right.py; give status, stdout and stderr."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return status, captured.out, captured.err

    return run


def test_nothing_wrong_is_0(attnspec):
    status, out, err = attnspec("validate", "reference", "--select", "documents/001/*")
    assert status == 0
    assert "attnspec reference" in out.splitlines()[-1]
    assert "conforms" in out.splitlines()[-1]
    assert err == ""


def test_nothing_wrong_in_part_is_0_too(attnspec):
    status, out, _ = attnspec("validate", "./right.py", "--profile", "documents")
    assert status == 0
    assert "right conforms in part" in out.splitlines()[-1]


def test_something_wrong_is_1_and_is_said(attnspec, write):
    write("wrong.py", RIGHT + "\nright = softmax\ndef softmax(x, axis=-1):\n    return right(x, 0)\n")
    status, out, _ = attnspec("validate", "./wrong.py", "--select", "documents/001/softmax_*")
    assert status == 1
    assert "does not conform" in out.splitlines()[-1]
    assert "Such as documents/001/softmax_" in out


def test_a_run_that_graded_nothing_is_1(attnspec, write):
    write("wide.py", f'{RIGHT}\ndtypes = ("float64",)\n')
    status, out, _ = attnspec("validate", "./wide.py", "--select", ROWS, "--dtype", "float32")
    assert status == 1
    assert "nothing could be graded" in out


def test_functions_beside_a_graded_one_are_said_in_one_line(attnspec, write):
    write("several.py", RIGHT + "\ndef attention(Q, K, V):\n    return V\n")
    status, out, _ = attnspec("validate", "./several.py", "--select", ROWS)
    assert status == 0
    assert "Not graded: attention (several.py defines it; ./several.py:attention grades one function)." in out
    write("many.py", RIGHT + "".join(f"\ndef attention_{number}():\n    pass\n" for number in range(7)))
    _, out, _ = attnspec("validate", "./many.py", "--select", ROWS)
    assert "attention_3, attention_4 and 2 more (many.py defines them;" in " ".join(out.split())
    _, out, _ = attnspec("validate", "./right.py", "--select", ROWS)
    assert "Not graded: " not in out


def test_quiet_is_one_line(attnspec, write):
    write("wrong.py", "def softmax(x, axis=-1):\n    return x\n")
    for target, status in (("./right.py", 0), ("./wrong.py", 1)):
        got, out, err = attnspec("validate", target, "--quiet", "--select", "documents/001/softmax_*")
        assert got == status
        assert len(out.splitlines()) == 1
        assert out.startswith(target.removeprefix("./").removesuffix(".py") + " ")
        assert err == ""


def test_a_report_is_written_for_each_path(attnspec, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    status, _, _ = attnspec("validate", "reference", "--select", ROWS, "--report", first, "--report", second)
    assert status == 0
    document = json.loads(first.read_text("utf-8"))
    assert [result["case"] for result in document["results"]] == [ROWS] * document["count"]
    assert json.loads(second.read_text("utf-8"))["count"] == document["count"]


def test_a_report_is_written_for_what_does_not_conform(attnspec, write, tmp_path):
    write("wrong.py", "def softmax(x, axis=-1):\n    raise ValueError('half \\ud800 of a pair')\n")
    status, _, _ = attnspec("validate", "./wrong.py", "--select", ROWS, "--report", "r.json")
    assert status == 1
    (result,) = json.loads((tmp_path / "r.json").read_text("utf-8"))["results"]
    assert result["status"] == "error"


def test_dtypes_profiles_conventions_renames_and_one_function_are_passed_on(attnspec, write, tmp_path):
    write("shares.py", RIGHT.replace("softmax(x", "shares(Z").replace("x.max", "Z.max").replace("(x -", "(Z -"))
    status, _, _ = attnspec(
        *("validate", "./shares.py:shares", "--as", "softmax", "--rename", "Z=x", "--convention"),
        *("accumulation=float32", "--select", "documents/001/*", "--profile", "documents", "--report", "r.json"),
    )
    assert status == 0
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert document["implementation"]["conventions"] == {"accumulation": "float32"}
    passed = {result["operation"] for result in document["results"] if result["status"] == "pass"}
    assert passed == {"softmax"}


def test_a_part_that_is_called_like_an_operation_is_said_not_to_be_graded(attnspec, write):
    write("parts.py", "def softmax(logits, ok): ...\ndef split_heads(x, num_heads):\n    return x\n")
    code, out, _ = attnspec("validate", "./parts.py", "--select", "layout/split_heads*")
    assert code == 1
    assert "Not graded: ./parts.py: softmax(logits, ok) demands 'ok', which softmax does not have." in " ".join(
        out.split()
    )


def test_what_is_guessed_is_said_first_and_kept_in_the_report(attnspec, write, tmp_path):
    write("shares.py", RIGHT.replace("softmax(x", "shares(logits").replace("x.", "logits.").replace("(x", "(logits"))
    code, out, _ = attnspec("validate", "./shares.py:shares", "--report", "r.json", "--select", "*/softmax_*")
    assert code == 0
    said = "Guessed: it is softmax, because its arguments are named so; logits is x."
    assert out.startswith(said)
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["implementation"]["guessed"] == said


def test_a_function_that_is_called_in_another_way_is_offered_an_adapter(attnspec, write):
    write("tokens_first.py", "def tokens_first(q, k, v):\n    assert q.shape[1] > 99\n    return v\n")
    code, out, _ = attnspec("validate", "./tokens_first.py:tokens_first", "--no-probes", "--profile", "core")
    assert code == 1
    assert "  attnspec init ./tokens_first.py:tokens_first\n" in out
    write("far_off.py", "def far_off(q, k, v):\n    return v.mean(2, keepdims=True) + 0 * q\n")
    assert (
        "attnspec init" not in attnspec("validate", "./far_off.py:far_off", "--no-probes", "--select", "core/plain")[1]
    )


def test_fail_fast_stops(attnspec, write, tmp_path):
    write("wrong.py", "def softmax(x, axis=-1):\n    return x\n")
    attnspec("validate", "./wrong.py", "--fail-fast", "--report", "r.json", "--select", "documents/001/softmax_*")
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["count"] == 1


BAD_ARGUMENTS = {
    "no target": ([], "Say what to validate: either TARGET (such as reference, or ./mine.py) or --command."),
    "target and command": (["reference", "--command", "x"], "Say what to validate: either TARGET"),
    "missing module": (["no_such_module"], "There is no module 'no_such_module' to import"),
    "missing file": (["./gone.py"], "There is no file 'gone.py'"),
    "missing attribute": (["./right.py:Gone"], "right has no attribute 'Gone'"),
    "module that raises": (["./raises.py"], "'raises.py' could not be imported: RuntimeError: no luck"),
    "syntax error": (["./broken.py"], "'broken.py' could not be imported: SyntaxError in line 1"),
    "target without operations": (["./empty.py"], "./empty.py holds none of the operations (softmax, "),
    "function without --as": (["./unsaid.py:mix"], "mix(one, two): which operation it is cannot be guessed. Say it"),
    "class with arguments": (["./needs.py:Adapter"], "could not be made into an adapter"),
    "required argument missing": (["./renamed.py"], "has no argument 'x', which softmax needs"),
    "required argument missing, advice": (["./renamed.py"], "--rename dtype=x"),
    "dtype declared": (["./float8.py"], "./float8.py declares the dtype 'float8'; the dtypes are float64"),
    "convention declared": (["./mood.py"], "./mood.py declares the unknown convention 'mood'"),
    "profile": (
        ["./right.py", "--profile", "docs"],
        "There is no profile 'docs'; the profiles are alibi, backward, cache",
    ),
    "dtype": (["./right.py", "--dtype", "float8"], "There is no dtype 'float8'; the dtypes are float64, float32"),
    "case": (["./right.py", "--select", "documents/009/*"], "No case matches 'documents/009/*'"),
    "convention": (["./right.py", "--convention", "mood=good"], "the unknown convention 'mood'; the conventions are"),
    "choice": (["./right.py", "--convention", "accumulation=int8"], "declares accumulation='int8'; the choices for"),
    "convention without value": (["./right.py", "--convention", "mood"], "--convention mood: write it as NAME=VALUE."),
    "layout": (["./right.py", "--layout", "ehsb"], "There is no layout 'ehsb'; the layouts are bhse, bshe"),
    "rename": (["./right.py", "--rename", "Q=nothing"], "no operation has an argument 'nothing'"),
    "rename without value": (["./right.py", "--rename", "Q"], "--rename Q: write it as NAME=VALUE."),
    "rename of nothing": (["./right.py", "--rename", "Z=x"], "no operation of ./right.py has an argument 'Z'"),
    "operation": (["./right.py:softmax", "--as", "attention"], "There is no operation 'attention'; the operations"),
    "module as operation": (["./right.py", "--as", "softmax"], "--as softmax needs a function, but ./right.py is a"),
    "report in no folder": (["./right.py", "--report", "gone/r.json"], "--report gone/r.json: there is no folder gone"),
    "report is a folder": (["./right.py", "--report", "folder.json"], "--report folder.json is a folder; name a file"),
    "report of unknown kind": (["./right.py", "--report", "r.doc"], "'.doc' is none of .json, .xml, .md, .html"),
    "golden folder": (["./right.py", "--golden", "gone"], "There is no folder of golden files at gone"),
    "timeout of nothing": (["./right.py", "--timeout", "0"], "Invalid value for '--timeout'"),
    "timeout without end": (["./right.py", "--timeout", "inf"], "--timeout inf: give a number of seconds, at most"),
    "timeout that is no number": (["./right.py", "--timeout", "nan"], "--timeout nan: give a number of seconds"),
    "missing program": (
        ["--command", "no_such_program x.mjs"],
        "The command 'no_such_program x.mjs' cannot be run: no_such_program is not installed or not on PATH.",
    ),
    "empty command": (["--command", ""], "The command is empty; give one such as"),
    "unclosed quote": (["--command", "'x"], "cannot be read: No closing quotation"),
    "command with --as": (["--command", "x", "--as", "softmax"], "--as is for Python targets"),
    "command with --rename": (["--command", "x", "--rename", "Q=query"], "--rename is for Python targets"),
    "command with --backward": (["--command", "x", "--backward", "autograd"], "--backward is for Python targets"),
    "backward of arrays": (
        ["./right.py", "--backward", "autograd"],
        "--backward autograd: ./right.py takes arrays of NumPy, which cannot be differentiated.",
    ),
    "backward in another way": (["./right.py", "--backward", "by hand"], "asks for backward passes by 'by hand'"),
    "command with --isolate": (["--command", "x", "--isolate"], "--isolate is for Python targets"),
    "isolated target": (["no_such_module", "--isolate"], "There is no module 'no_such_module' to import"),
    "unknown option": (["./right.py", "--dtypes", "float32"], "No such option"),
}


@pytest.mark.parametrize("kind", BAD_ARGUMENTS)
def test_bad_input_is_2_with_a_sentence_and_nothing_else(kind, attnspec, write, tmp_path):
    write("raises.py", "raise RuntimeError('no luck')")
    write("broken.py", "def softmax(:")
    write("empty.py", "x = 1")
    write(
        "needs.py",
        "class Adapter:\n    def __init__(self, width):\n        pass\n    def softmax(self, x):\n        pass",
    )
    write("renamed.py", "def softmax(dtype=None, *, axis):\n    return axis")
    write("unsaid.py", "def mix(one, two):\n    return two")
    write("float8.py", RIGHT + "\ndtypes = ['float8']")
    write("mood.py", RIGHT + "\nconventions = {'mood': 'good'}")
    (tmp_path / "folder.json").mkdir()
    arguments, sentence = BAD_ARGUMENTS[kind]
    # One case is read beside those that an argument names: reading all takes longer than saying what is wrong.
    status, out, err = attnspec("validate", *arguments, "--select", ROWS)
    assert status == 2
    assert sentence in err
    assert out == ""
    assert len(err.strip().splitlines()) <= 4
    assert err.startswith(("attnspec: ", "Usage: "))


def test_what_is_wrong_with_a_report_is_found_before_the_run(attnspec, write, tmp_path):
    write("leaves_a_trace.py", "open('trace', 'w').close()\n" + RIGHT)
    status, _, _ = attnspec("validate", "./leaves_a_trace.py", "--report", "gone/r.json")
    assert status == 2
    assert not (tmp_path / "trace").exists()
    status, _, _ = attnspec("validate", "./leaves_a_trace.py", "--report", "r.json", "--select", ROWS)
    assert status == 0
    assert (tmp_path / "trace").exists()


def test_a_folder_without_permission_is_found_before_the_run(attnspec, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    status, _, err = attnspec("validate", "./right.py", "--report", tmp_path / "r.json")
    assert status == 2
    assert "r.json cannot be written: permission denied" in err


def test_a_framework_that_is_not_installed_names_the_extra(attnspec, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in [name for name in sys.modules if name.startswith("attnspec_adapters.torch")]:
        monkeypatch.delitem(sys.modules, module)
    status, _, err = attnspec("validate", "torch")
    assert status == 2
    assert 'Install it with: pip install "attnspec[implementations]"' in err


def test_an_unknown_layout_leaves_no_process_behind(attnspec, monkeypatch):
    from attnspec.process.process import ProcessImplementation

    closed = []
    close = ProcessImplementation.close
    monkeypatch.setattr(ProcessImplementation, "close", lambda self: (closed.append(self), close(self)))
    status, _, err = attnspec("validate", "./right.py", "--isolate", "--layout", "ehsb")
    assert status == 2
    assert "There is no layout 'ehsb'" in err
    assert closed


def statuses(path):
    document = json.loads(path.read_text("utf-8"))
    return {result["case"].removeprefix("documents/001/"): result["status"] for result in document["results"]}


def test_a_target_that_hangs_and_crashes_costs_its_cases_alone(attnspec, write, tmp_path):
    write("shaky.py", HANGS_AND_CRASHES)
    status, out, _ = attnspec(
        *("validate", "./shaky.py", "--timeout", "1", "--report", "r.json"),
        *("--select", "documents/001/softmax_of_[crw]*", "--select", "documents/001/softmax_of_scores"),
    )
    assert status == 1
    assert statuses(tmp_path / "r.json") == {
        "softmax_of_columns": "crash",
        "softmax_of_rows": "pass",
        "softmax_of_scores": "timeout",
        "softmax_of_whole_array": "pass",
    }
    assert "ended with exit code 7" in out
    assert "gave no answer within 1 seconds" in out


def test_an_isolated_target_gives_the_same_verdicts(attnspec, write, tmp_path):
    write("json.py", "raise RuntimeError('this is not the json that Python means')")
    options = ("--select", "documents/001/softmax_*", "--select", "documents/002/combine_heads")
    assert attnspec("validate", "./right.py", *options, "--report", "apart.json", "--isolate")[0] == 0
    assert attnspec("validate", "./right.py", *options, "--report", "here.json")[0] == 0
    assert statuses(tmp_path / "apart.json") == statuses(tmp_path / "here.json")
    assert "pass" in statuses(tmp_path / "here.json").values()


def test_an_interruption_is_130(attnspec, write):
    write("stops.py", "def softmax(x, axis=-1):\n    raise KeyboardInterrupt\n")
    status, _, err = attnspec("validate", "./stops.py", "--select", ROWS)
    assert status == 130
    assert err.strip() == "attnspec: interrupted"


def in_a_process(*arguments, folder):
    return subprocess.run(
        [sys.executable, "-P", "-m", "attnspec", "validate", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["./right.py", "--quiet", "--select", ROWS], 0),
        (["./wrong.py", "--quiet", "--select", ROWS], 1),
        (["./gone.py"], 2),
        (["./stops.py", "--select", ROWS], 130),
    ],
)
def test_the_process_ends_with_the_status(arguments, status, write, tmp_path):
    write("wrong.py", "def softmax(x, axis=-1):\n    return x\n")
    write("stops.py", "def softmax(x, axis=-1):\n    raise KeyboardInterrupt\n")
    ended = in_a_process(*arguments, folder=tmp_path)
    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
    assert (ended.stderr == "") == (status in (0, 1))


def test_what_the_target_prints_stays_apart_from_the_protocol(attnspec, write):
    write(
        "prints.py", "print('hello from the import')\n" + RIGHT.replace("    return", "    print('hello')\n    return")
    )
    status, _, _ = attnspec("validate", "./prints.py", "--isolate", "--quiet", "--select", ROWS)
    assert status == 0


def test_the_command_in_a_report_repeats_the_run(attnspec, write):
    write("half.py", "def f(X, dim=-1):\n    return X / 2\n")
    options = ("--as", "softmax", "--rename", "X=x", "--rename", "dim=axis", "--layout", "bhse", "--timeout", "20")
    arguments = ("./half.py:f", *options, "--select", ROWS, "--convention", "fully_masked_row=nan")
    status, _, err = attnspec("validate", *arguments, "--report", "report.json", "--report", "report.md")
    assert (status, err) == (1, "")
    (command,) = [
        line[2:] for line in Path("report.md").read_text("utf-8").splitlines() if line.startswith("$ attnspec ")
    ]
    words = shlex.split(command)
    assert words[0] == "attnspec"
    assert attnspec(*words[1:], "--report", "again.json")[0] == 1
    first, again = (json.loads(Path(name).read_text("utf-8")) for name in ("report.json", "again.json"))
    assert again["invocation"] == first["invocation"]
    assert [result["message"] for result in again["results"]] == [result["message"] for result in first["results"]]


def test_the_command_in_a_report_names_a_program_as_one(attnspec, write):
    write("answers.py", "import sys\nfrom attnspec.process.serving import main\nsys.exit(main(['./wrong.py']))\n")
    write("wrong.py", "def softmax(x, axis=-1):\n    return x + 1\n")
    write("program", f"#!{sys.executable}\nimport runpy\nrunpy.run_path('answers.py')\n").chmod(0o755)
    assert attnspec("validate", "--command", "./program", "--select", ROWS, "--report", "report.md")[0] == 1
    assert "$ attnspec validate --command ./program " in Path("report.md").read_text("utf-8")
