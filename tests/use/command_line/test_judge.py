"""``attnspec judge``: what is printed, and how it ends."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnspec.command_line import main

ROOT = Path(__file__).parents[3]
EXPLOITS = ROOT / "tests" / "unit" / "attnspec_draws" / "judge" / "exploits"
ENTRY = {name: [1, 2, 9, 4] for name in ("query", "key", "value")}
SHAPES = {"operation": "scaled_dot_product_attention", "dtypes": ["float32"], "shapes": [ENTRY]}


@pytest.fixture
def shapes(tmp_path):
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps(SHAPES))
    return ["--shapes", str(path), "--draws", "3"]


def target(name):
    return str(EXPLOITS / f"{name}.py")


def test_the_right_one_ends_with_0(shapes, capsys):
    assert main(["judge", target("honest"), *shapes]) == 0
    assert "honest.py: right\n" in capsys.readouterr().out


def test_the_wrong_one_ends_with_1_and_can_be_seen(shapes, capsys):
    assert main(["judge", target("zeros"), *shapes]) == 1
    reported = capsys.readouterr().out
    assert "zeros.py: wrong\n" in reported
    assert "It returned zeros." in reported
    line = next(line for line in reported.splitlines() if "attnspec show --python" in line)
    recipe = shlex.split(line)[-1]
    assert main(["debug", recipe, target("zeros")]) == 1


def test_several_are_ranked(shapes, capsys):
    assert main(["judge", target("zeros"), target("honest"), *shapes]) == 1
    reported = capsys.readouterr().out
    assert reported.index("honest.py: right") < reported.index("zeros.py: wrong")
    assert reported.startswith("1. ")


def test_the_document_is_json(shapes, capsys):
    assert main(["judge", target("honest"), *shapes, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "right"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Say what to judge"),
        (["./nowhere.py"], "nowhere.py"),
        ([target("honest"), "--forbid", "no.such.thing"], "--forbid no.such.thing: there is no such function"),
        ([target("honest"), "--sandbox", "no_such_program"], "--sandbox no_such_program: there is no such program"),
        ([target("honest"), "--seed", "a b"], "--seed 'a b': a seed is a word"),
        ([target("honest"), "--timeout", "nan"], "nan"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(shapes, capsys, words, says):
    assert main(["judge", *words, *shapes]) == 2
    assert says in capsys.readouterr().err


def test_one_that_cannot_be_loaded_keeps_nobody_from_a_verdict(shapes, tmp_path, capsys):
    (tmp_path / "broken.py").write_text("def attention(:\n")
    assert main(["judge", str(tmp_path / "broken.py"), target("honest"), *shapes]) == 1
    reported = capsys.readouterr().out
    assert "honest.py: right" in reported
    assert "broken.py: not judged" in reported
    assert "SyntaxError" in reported


def test_a_layout_is_taken_from_the_file_or_said(shapes, tmp_path, capsys):
    code = (
        "import attnspec_reference\n"
        "def scaled_dot_product_attention(query, key, value):\n"
        "    query, key, value = (array.swapaxes(1, 2) for array in (query, key, value))\n"
        "    return attnspec_reference.scaled_dot_product_attention(query, key, value).output.swapaxes(1, 2)\n"
    )
    (tmp_path / "said.py").write_text(code)
    (tmp_path / "declared.py").write_text(f'layout = "bshe"\n{code}')
    assert main(["judge", str(tmp_path / "said.py"), *shapes]) == 1
    assert main(["judge", str(tmp_path / "said.py"), "--layout", "bshe", *shapes]) == 0
    assert main(["judge", str(tmp_path / "declared.py"), *shapes]) == 0
    capsys.readouterr()


def test_a_dtype_that_is_not_declared_is_not_called(shapes, tmp_path, capsys):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "half.py").write_text('from honest import scaled_dot_product_attention\ndtypes = ("float16",)\n')
    assert main(["judge", str(tmp_path / "half.py"), *shapes]) == 1
    assert "not judged" in capsys.readouterr().out


def test_a_file_of_shapes_that_is_none_is_reported(tmp_path, capsys):
    path = tmp_path / "shapes.json"
    path.write_text("{")
    assert main(["judge", target("honest"), "--shapes", str(path)]) == 2
    assert "is no file of shapes" in capsys.readouterr().err


COUNTING = """
import os

def scaled_dot_product_attention(query, key, value):
    threads, idle = (os.environ.get(f"OPENBLAS_{name}") for name in ("NUM_THREADS", "THREAD_TIMEOUT"))
    raise ValueError(f"threads: {threads}, idle for 2**{idle}")
"""


def test_the_judge_computes_on_one_thread_and_its_candidate_on_as_many_as_ever(shapes, tmp_path):
    (tmp_path / "counting.py").write_text(COUNTING)
    of_judge = (
        "import os, sys, time; from attnspec.command_line import main; "
        "status, tasks = main(sys.argv[1:]), '/proc/self/task'; "
        "count = lambda: len(os.listdir(tasks)) if os.path.isdir(tasks) else 1; "
        # A thread that read the candidate's pipe may be about to end; NumPy's never do.
        "[time.sleep(0.05) for _ in range(40) if count() > 1]; "
        "print('threads of the judge:', count()); sys.exit(status)"
    )
    command = [sys.executable, "-c", of_judge, "judge", str(tmp_path / "counting.py"), *shapes]
    free = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    ended = subprocess.run(command, capture_output=True, text=True, env=free, check=False)
    assert ended.returncode == 1, ended.stderr
    assert "threads: None, idle for 2**16" in ended.stdout
    assert "threads of the judge: 1\n" in ended.stdout


def sandbox() -> str:
    """Return the command line of the page on judging; what it would hide of a Python below /tmp is bound."""
    page = (ROOT / "spec/judging.md").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if '--sandbox "bwrap' in line]
    words = line.split('--sandbox "')[1].rstrip('"')
    below = {str(path) for path in map(Path, (ROOT, sys.prefix, sys.base_prefix)) if path.is_relative_to("/tmp")}
    return " ".join([words, *(f"--ro-bind {path} {path}" for path in sorted(below))])


def has_sandbox() -> bool:
    command = [*sandbox().replace("{files}", str(EXPLOITS)).split(), "true"]
    return (
        shutil.which("bwrap") is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


ENDS_ITS_JUDGE = """
import os
import signal
from contextlib import suppress
from honest import scaled_dot_product_attention

with suppress(OSError):
    os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not has_sandbox(), reason="bubblewrap is not installed, or may not make namespaces")
def test_what_ends_the_judge_is_judged_in_the_sandbox_of_the_page(shapes, tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "candidate.py").write_text(ENDS_ITS_JUDGE)
    command = [sys.executable, "-m", "attnspec", "judge", str(tmp_path / "candidate.py"), "--json", *shapes]
    assert subprocess.run(command, capture_output=True, check=False).returncode < 0
    done = subprocess.run([*command, "--sandbox", sandbox()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "right"
