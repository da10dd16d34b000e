"""Programs in C and Go, as devices run them that have neither Python nor a pipe: they read an export, and their answers
are graded."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.offline import export

EXAMPLES = Path(__file__).parents[3] / "examples"
SUITE = ("core", "grouped_query", "documents")


def compiler(*names):
    """The first compiler that is installed; on a desk a test without one is skipped, in CI it fails."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and "ATTNSPEC_COMPILERS" in os.environ:
        pytest.fail(f"{names[0]} is not installed, and ATTNSPEC_COMPILERS wants it: `.ci/run` says how it is")
    return found or pytest.skip(f"{names[0]} is not installed")


def in_c(folder, *words):
    build = [compiler("cc", "gcc", "clang"), "-O2", "-std=c11", *(f"-D{word}" for word in words)]
    subprocess.run([*build, "-o", str(folder / "c"), str(EXAMPLES / "c" / "attention.c"), "-lm"], check=True)
    return "safetensors", [str(folder / "c")]


def in_go(folder, *words):
    source, environment = EXAMPLES / "go" / "attention.go", {**os.environ, "GOCACHE": str(folder / "cache")}
    build = [compiler("go"), "build", "-o", str(folder / "go"), str(source)]
    subprocess.run(build, check=True, env={"GO111MODULE": "off", **environment})
    return "json", [str(folder / "go"), *words]


@pytest.fixture
def answered(tmp_path):
    """Compile a program, export cases, and have it answer them."""

    def make(program, *words):
        (tmp_path / "built").mkdir()
        tensors, command = program(tmp_path / "built", *words)
        folder = tmp_path / "cases"
        manifest = export(load_suite(profiles=SUITE), folder, tensors).manifest
        subprocess.run([*command, *(str(folder / entry.file) for entry in manifest.cases)], check=True)
        return folder

    return make


@pytest.mark.parametrize(("program", "words"), [(in_c, ()), (in_c, ("IN_A_ROW",)), (in_go, ()), (in_go, ("-flat",))])
def test_a_right_program_conforms(answered, capsys, program, words):
    assert main(["grade", str(answered(program, *words)), "--name", "my attention"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "my attention conforms in part" in out
    assert "nothing wrong" in out


@pytest.mark.parametrize(("program", "words"), [(in_c, ("SCALE_MISSING", "IN_A_ROW")), (in_go, ("-unscaled",))])
def test_a_missing_scale_is_named(answered, tmp_path, capsys, program, words):
    report = tmp_path / "report.json"
    assert main(["grade", str(answered(program, *words)), "--report", str(report)]) == 1
    (diagnosis,) = json.loads(report.read_text("utf-8"))["diagnosis"]
    assert (diagnosis["mistake"], diagnosis["clause"]) == ("sdpa.scale_missing", "sdpa.scale.default")
    assert "The scores were not scaled." in capsys.readouterr().out


def test_a_compiler_that_is_missing_fails_in_ci_and_is_skipped_on_a_desk(monkeypatch):
    monkeypatch.setenv("ATTNSPEC_COMPILERS", "1")
    with pytest.raises(pytest.fail.Exception, match="no-such-compiler is not installed"):
        compiler("no-such-compiler")
    monkeypatch.delenv("ATTNSPEC_COMPILERS")
    with pytest.raises(pytest.skip.Exception):
        compiler("no-such-compiler")
