"""The guide to vectors: its commands work in the order of the page, and a Go project needs no Python for its own."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnspec.base import __version__
from attnspec.cases import load_suite
from attnspec.cases.selecting import of_operations
from attnspec_vectors import write_archive, write_release

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "spec" / "guides" / "vectors.md"
TEXT = GUIDE.read_text(encoding="utf-8")
WALK = TEXT.partition("## A project in Go\n")[2].partition("\n## ")[0]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = ("go", "gzip", "mv", "sh", "sha256sum", "tar")


def commands(text):
    return [line[2:] for kind, block in BLOCK.findall(text) if kind == "console" for line in block.splitlines()]


def test_every_file_that_it_names_is_there():
    targets = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(targets) >= 5
    for target in targets:
        assert (GUIDE.parent / target).exists(), target


def test_every_command_with_python_works_in_the_order_of_the_page(tmp_path, warm_commands):
    shutil.copy(ROOT / "tests" / "examples" / "consumers" / "python" / "attention.py", tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in commands(TEXT.replace(WALK, "")):
        command, _, status = line.partition("  # ends with ")
        program, *words = shlex.split(command)
        if program == "attnspec":
            # Of the whole release, the tests make the part that the page reads.
            only = ["--operation", "scaled_dot_product_attention", "--profile", "core"]
            done = warm_commands.run(*words, *only, cwd=tmp_path)
        else:
            done = subprocess.run(
                [program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
        assert done.returncode == int(status or 0), f"{line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    assert (tmp_path / "attnspec-vectors.tar.gz").exists()


@pytest.fixture
def project(tmp_path):
    """A folder with the archive and the files of the page, and what runs a command where there is no Python."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing and "ATTNSPEC_COMPILERS" not in os.environ:
        pytest.skip(f"{', '.join(missing)} is missing, which fails in CI alone")
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    folder = tmp_path / "mine"
    folder.mkdir()
    suite = of_operations(load_suite(profiles=["core", "stress", "nonfinite"]), ["scaled_dot_product_attention"])
    release = write_release(suite, tmp_path / "release")
    write_archive(tmp_path / "release", release, folder / "attnspec-vectors.tar.gz")
    for kind, block in BLOCK.findall(WALK):
        if kind == "go":
            name = re.match(r"// (\w+\.go)\n", block)[1]
            (folder / name).write_text(block, encoding="utf-8")
    environment = {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "GOCACHE": str(tmp_path / "cache"),
        "GOPROXY": "off",
        "CGO_ENABLED": "0",
    }

    def run(command):
        return subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return folder, run


def test_a_project_in_go_without_python_does_what_the_page_says(project):
    folder, run = project
    assert run("python3 -V").returncode != 0
    for command in commands(WALK):
        done = run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    counted = run("go test -v ./...").stdout
    assert len(re.findall(r"^    --- PASS", counted, re.MULTILINE)) > 60
    assert __version__ in (folder / "vectors" / "README.md").read_text("utf-8")
    # And without the root, as the page says.
    source = folder / "attention.go"
    text = source.read_text("utf-8")
    assert " / math.Sqrt(float64(width))" in text
    source.write_text(text.replace(" / math.Sqrt(float64(width))", ""), encoding="utf-8")
    done = run("go test ./...")
    assert done.returncode == 1
    assert re.search(r"output\[\d+\] is \S+; expected \S+ within", done.stdout)
    assert "sdpa.scale_missing" in done.stdout
    # The sums are of the files that came.
    (folder / "vectors" / "README.md").write_text("cut", encoding="utf-8")
    assert run("cd vectors && sha256sum --quiet -c SHA256SUMS").returncode == 1
