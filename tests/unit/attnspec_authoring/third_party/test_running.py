"""Running an implementation in a process of its own, and the command that runs several."""

import os
import subprocess
import sys

from attnspec_authoring.third_party import run_implementation

CASE = "documents/001/softmax_of_rows"


def test_a_report_comes_back():
    outcome = run_implementation("reference", [f"--select={CASE}", "--dtype=float32"])
    assert outcome.problem is None
    assert outcome.version
    assert [(entry["case"], entry["dtype"], entry["status"]) for entry in outcome.results] == [
        (CASE, "float32", "pass")
    ]


def test_what_cannot_be_loaded_says_why():
    outcome = run_implementation("no_such_implementation")
    assert outcome.results == ()
    assert outcome.version is None
    assert "There is no module 'no_such_implementation'" in outcome.problem


def test_what_ends_its_process_has_crashed(tmp_path):
    outcome = run_implementation(ending(tmp_path, "os.getpid()"), [f"--select={CASE}"])
    assert [(entry["case"], entry["status"]) for entry in outcome.results] == [(CASE, "crash")]


def test_what_ends_the_harness_says_so(tmp_path):
    outcome = run_implementation(ending(tmp_path, "os.getppid()"), [f"--select={CASE}"])
    assert outcome.problem == "its process was ended by signal 9"


def ending(folder, process):
    path = folder / "ends.py"
    path.write_text(f"import os, signal\n\ndef softmax(x, axis=-1):\n    os.kill({process}, signal.SIGKILL)\n", "utf-8")
    return str(path)


def test_what_takes_too_long_is_given_up():
    outcome = run_implementation("reference", timeout=0.01)
    assert outcome.problem == "it took more than 0.01 seconds"


def test_the_command_goes_on_without_a_library(tmp_path):
    # Found before the library, if there is one.
    (tmp_path / "onnx.py").write_text("raise ImportError('broken')\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "attnspec_authoring.third_party", "onnx", f"--select={CASE}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "onnx could not be run: The adapter 'onnx' needs onnx, which cannot be imported (broken)." in done.stdout


def test_the_command_refuses_an_unknown_name():
    done = subprocess.run(
        [sys.executable, "-m", "attnspec_authoring.third_party", "tensorflow"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "tensorflow" in done.stderr
