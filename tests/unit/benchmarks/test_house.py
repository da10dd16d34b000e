"""The count of the house, of a tiny tree with a gate that forks, a circle, and one case of two calls."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "tools" / "benchmarks" / "house.py"
TREE = {
    "golden/core/plain.json": "{}\n",
    "spec/README.md": "Five words of the specification.\n",
    "spec/studies/one.md": "Three words here.\n",
    "tests/strangers/theirs.py": "1\n2\n",
    "pyproject.toml": """
[tool.hatch.build.targets.wheel]
only-include = ["golden/core", "spec", "tools/attnspec", "reference_impl/attnspec_mistakes"]
""",
    "reference_impl/attnspec_mistakes/__init__.py": "A = 1\n\n\ndef wrong():\n    return A\n",
    "reference_impl/attnspec_reference/__init__.py": """
def scaled_dot_product_attention():
    from types import SimpleNamespace

    return SimpleNamespace(output=1)
""",
    "tools/attnspec_authoring/__init__.py": "\n" * 50,
    "tools/attnspec/known.json": "{\n}\n",
    "tools/attnspec/kill_matrix.json": "{\n}\n",
    "tools/attnspec/__init__.py": """
def validate(target, select, dtypes):
    from attnspec.runner.running import run

    return run(target)
""",
    "tools/attnspec/__main__.py": """
import os
import pathlib

import attnspec_mistakes

child = os.fork()
if child == 0:
    import attnspec.late

    os._exit(0)
os.waitpid(child, 0)
pathlib.Path("report.json").touch()
raise SystemExit(1)
""",
    "tools/attnspec/late.py": """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import attnspec.runner.running
""",
    "tools/attnspec/runner/__init__.py": "",
    "tools/attnspec/runner/running.py": '''
from attnspec.cases import reading


def run(target):
    """Run.

    Parameters
    ----------
    target
        What to run.
    """
    reading.read()
    if target != "reference":
        target.scaled_dot_product_attention()
        target.scaled_dot_product_attention()
    return [reading.read() for _ in "once"]
''',
    "tools/attnspec/cases/__init__.py": "",
    "tools/attnspec/cases/reading.py": """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnspec.cases.running import Run
    from ..runner.running import run


def read(*, device=None, tensors=None, layout=None, backward=None, without=None):
    return None


def one():
    read(device=1, tensors=1, layout=1, backward=1, without=1)


def many():
    one()
    read(device=1)
    read(device=1)
    read(device=1)
""",
    "tools/attnspec/cases/running.py": """
class Run:
    device: str
    tensors: str
    layout: str
    backward: str
    without: str
""",
}


FIGURES = {
    "tracked_files": 17,
    "tracked_bytes": sum(len(text.removeprefix("\n")) for text in TREE.values()),
    "python_files": 12,
    "python_lines": 123,
    "strangers_lines": 2,
    "wheel_files": 9,
    "wheel_lines": 68,
    "wheel_data_lines": 2,
    "spec_words": 5,
    "study_words": 3,
    "rooms": 6,
    "most_modules_in_a_room": 2,
    "longest_module": 49,
    "functions": 5,
    "short_functions": 3,
    "functions_named_once": 2,
    "short_functions_named_once": 1,
    "small_modules": 5,
    "module_names_used_again": 1,
    "docstrings_with_sections": 1,
    "option_signatures": 3,
    "circles_of_files": 1,
    "circles_of_drawn_rooms": 1,
    "drawn_rooms_in_circles": 2,
    "circles_of_rooms": 1,
    "rooms_in_circles": 2,
    "validator_floors": 3,
    "gate_modules": 3,
    "gate_lines": 21,
    "gate_lines_of_its_own_process": 17,
    "gate_catalogue_lines": 5,
    "case_functions": 3,
    "case_modules": 2,
    "case_rooms": 2,
    "case_changes": 2,
    "case_folders": 3,
    "case_folder_changes": 2,
    "case_answers": 2,
}


def git(root, *words):
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=root, check=True)


def house(root, *options):
    command = [sys.executable, str(PROGRAM), "--root", str(root), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.removeprefix("\n"), encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=Tiny")
    (root / "untracked.py").write_text("1\n", encoding="utf-8")
    return root


def test_every_figure_of_a_tiny_tree_is_counted(root):
    found = json.loads(house(root, "--json"))
    assert found["figures"] == FIGURES
    assert found["sources"] == {
        "the room with most modules": ["tools/attnspec"],
        "the longest module": ["tools/attnspec_authoring/__init__.py"],
        "circles of files": ["attnspec.cases.reading, attnspec.runner.running"],
        "circles of drawn rooms": ["attnspec.cases, attnspec.runner"],
        "circles of rooms": ["tools/attnspec/cases, tools/attnspec/runner"],
        "signatures that spell out options": [
            "tools/attnspec/cases/reading.py:8",
            "tools/attnspec/cases/reading.py:13",
            "tools/attnspec/cases/running.py:1",
        ],
    }


def test_the_table_and_the_page_have_each_figure_beside_that_of_the_review(root, tmp_path):
    page = tmp_path / "studies" / "house.md"
    lines = [line.split() for line in house(root, "--write", str(page)).splitlines()]
    assert len(lines) == 1 + len(FIGURES)
    (functions,) = (line for line in lines if line[0] == "functions" and line[1] == "2,881")
    assert functions[-1] == "5"
    assert "| functions | 2,881 | 2,881 |  | 5 |" in page.read_text(encoding="utf-8").splitlines()
