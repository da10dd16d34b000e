"""A program in C, as a device runs it that has neither Python nor a pipe: it reads the export, and its answers are
graded."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.offline import export

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
SOURCE = Path(__file__).parents[3] / "examples" / "c" / "attention.c"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler is installed")


@pytest.fixture
def answered(tmp_path):
    """Compile the program, export cases, and have it answer them."""

    def make(*defined):
        program, folder = tmp_path / "attention", tmp_path / "cases"
        build = [COMPILER, "-O2", "-std=c11", *defined, "-o", str(program), str(SOURCE), "-lm"]
        subprocess.run(build, check=True)
        suite = load_suite(profiles=("core", "grouped_query", "documents"))
        manifest = export(suite, folder, "safetensors").manifest
        subprocess.run([str(program), *(str(folder / entry.file) for entry in manifest.cases)], check=True)
        return folder

    return make


def test_a_right_program_conforms(answered, capsys):
    assert main(["grade", str(answered()), "--name", "attention in C"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "attention in C conforms in part" in out
    assert "nothing wrong" in out


def test_a_missing_scale_is_named(answered, tmp_path, capsys):
    report = tmp_path / "report.json"
    assert main(["grade", str(answered("-DSCALE_MISSING")), "--report", str(report)]) == 1
    (diagnosis,) = json.loads(report.read_text("utf-8"))["diagnosis"]
    assert (diagnosis["mistake"], diagnosis["clause"]) == ("sdpa.scale_missing", "sdpa.scale.default")
    assert "The scores were not scaled." in capsys.readouterr().out
