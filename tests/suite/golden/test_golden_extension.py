"""How the snapshot test of the golden files fails and updates, tried on a copy of the folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REDIRECT = """
import os
from pathlib import Path
from golden_extension import GoldenFileExtension
from attnspec_authoring import recipes
everything = recipes.authored_cases()
recipes.authored_cases = lambda: tuple(case for case in everything if case.profile == "documents")
GoldenFileExtension.folder = Path(os.environ["GOLDEN_COPY"])
"""


@pytest.fixture
def copy(tmp_path) -> Path:
    """A golden folder of the documents' cases, of which alone there are snapshots there."""
    (tmp_path / "redirect_golden.py").write_text(REDIRECT)
    return Path(shutil.copytree(ROOT / "golden" / "documents", tmp_path / "golden" / "documents")).parent


def run_snapshots(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["GOLDEN_COPY"] = str(copy)
    environment["PYTHONPATH"] = os.pathsep.join([str(copy.parent), str(ROOT / "tests" / "suite" / "golden")])
    # No path is given: that is when syrupy deletes what it finds unused.
    only_snapshots = ["-o", "testpaths=tests/suite/golden/test_snapshots.py"]
    command = [sys.executable, "-m", "pytest", "-p", "redirect_golden", "-p", "no:cacheprovider", *only_snapshots]
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def texts(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_changed_digit_fails_with_the_name_of_the_file_and_its_line_and_a_line_ending_counts(copy) -> None:
    path, other = copy / "documents/003/context_vector.json", copy / "documents/001/single_head.json"
    path.write_text(path.read_text().replace("0.09578693567", "0.09578693568", 1))
    other.write_bytes(other.read_bytes().replace(b"\n", b"\r\n"))
    before = texts(copy)
    done = run_snapshots(copy)
    assert done.returncode == 1
    for words in (
        "golden/documents/003/context_vector.json is not what its recipe and the oracle give",
        "golden/documents/001/single_head.json is not what its recipe and the oracle give",
        "attnspec regenerate",
        'in the file:     "data": [0.09578693568',
        'by recipe:       "data": [0.09578693567',
        "1 of ",
    ):
        assert words in done.stdout
    assert "2 failed" in done.stdout
    assert texts(copy) == before


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.proof)])
def test_an_update_writes_golden_files_and_deletes_nothing(copy, workers) -> None:
    right = texts(copy)
    (copy / "documents/003/context_vector.json").write_text("{")
    (copy / "documents/001/single_head.json").unlink()
    foreign = {
        "README.md": b"about these files",
        "documents/notes.txt": b"notes",
        "documents/003/orphan.json": b"{}",
        "plot.svg": b"<svg/>",
    }
    for name, content in foreign.items():
        (copy / name).write_bytes(content)
    done = run_snapshots(copy, "--snapshot-update", "-n", workers)
    assert done.returncode == 0, done.stdout
    assert "1 snapshot generated. 1 snapshot updated." in done.stdout
    assert texts(copy) == {**right, **foreign}
