"""CONTRIBUTING.md, followed literally: its family is made in a copy of the checkout, and its entries are missed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnspec_authoring.rotation import selection

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## A family in full")[2]
STEP = re.compile(r"^### (In )?`([^`]+)`\n((?:\n```\w+\n.*?\n```\n)+)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```\w+\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def written_files(page):
    """Path to text of each file that the page gives whole."""
    return {path: f"{BLOCK.search(blocks)[1]}\n" for edit, path, blocks in STEP.findall(page) if not edit}


def edits(page):
    """Path, lines that are there, and the same with the page's own, of each edit of a file that exists."""
    for edit, path, blocks in STEP.findall(page):
        for block in BLOCK.findall(blocks) if edit else ():
            lines = block.splitlines()
            there = [line[1:] for line in lines if line.startswith(" ")]
            yield path, "\n".join([*there, ""]), "\n".join([*(line[1:] for line in lines), ""])


class Checkout:
    """A copy of the checkout, whose own packages its programs import."""

    def __init__(self, folder):
        self.folder = folder
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, listing.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)

    def python(self, *arguments):
        paths = os.pathsep.join(str(self.folder / name) for name in ("tools", "reference_impl"))
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def attnspec(self, *arguments):
        return self.python("-m", "attnspec", *arguments)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy in which the family of the page was made, up to the commands."""
    made = Checkout(tmp_path_factory.mktemp("contributed"))
    for path, text in written_files(PAGE).items():
        assert not (made.folder / path).exists(), path
        (made.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / path).write_text(text, "utf-8")
    for path, there, with_own in edits(PAGE):
        text = (made.folder / path).read_text("utf-8")
        assert text.count(there) == 1, (path, there)
        (made.folder / path).write_text(text.replace(there, with_own), "utf-8")
    for program, command in re.findall(r"^\$ (attnspec|python) (.+)$", PAGE, re.MULTILINE):
        finished = (made.attnspec if program == "attnspec" else made.python)(*command.split())
        assert finished.returncode == 0, (command, finished.stdout, finished.stderr)
    return made


def test_the_page_makes_a_family():
    assert len(written_files(PAGE)) > 10
    assert len([*edits(PAGE)]) > 3


@pytest.mark.proof
def test_lint_and_the_quick_tests_are_green(checkout):
    pytest.importorskip("pyright")
    made = [path for path in written_files(PAGE) if path.endswith(".py")]
    for command in (["ruff", "check"], ["ruff", "format", "--check"], ["pyright", "--pythonpath", sys.executable]):
        finished = checkout.python("-m", *command, *made)
        assert finished.returncode == 0, finished.stdout
    quick = (
        *("tests/suite/test_complete.py", "tests/suite/test_general_rooms.py", "tests/suite/test_imports.py"),
        *("tests/suite/recipes", "tests/unit/attnspec_mistakes", "tests/unit/attnspec_reference/test_spec_pages.py"),
        *("tests/unit/attnspec/contract", "tests/unit/attnspec/specification", "tests/use/test_vocabulary.py"),
        *("tests/unit/attnspec/runner/test_changed_arguments.py", "tests/unit/attnspec_authoring/pictures"),
    )
    finished = checkout.python("-m", "pytest", "-q", "-n", "0", "-m", "not proof", *quick)
    assert finished.returncode == 0, finished.stdout[-4000:]
    assert "normalization/wide" in checkout.attnspec("list", "--operation", "layer_norm").stdout


FORGOTTEN = {
    "contract": ("tools/attnspec/contract/normalization.json", None, "contract/normalization.json (operations)"),
    "page": ("spec/operations/normalization/layer_norm.md", None, "spec/operations/normalization/ (the page"),
    "list of pages": ("spec/README.md", r"^\| \[`layer_norm`.*\n", "spec/README.md (The operations)"),
    "sentence of a profile": ("spec/goldens-and-tolerance.md", r"^\| `normalization`.*\n", "(Profiles)"),
    "record": ("tools/attnspec/families/normalization/family.py", None, "families/normalization/ lacks family.py"),
    "import of the reference": (
        *("reference_impl/attnspec_reference/__init__.py", r"^from .* import layer_norm\n"),
        "reference_impl/attnspec_reference/__init__.py",
    ),
    "export of the reference": (
        *("reference_impl/attnspec_reference/__init__.py", r'^    "layer_norm",\n'),
        "reference_impl/attnspec_reference/__init__.py",
    ),
    "oracle": ("reference_impl/attnspec_oracle/normalization/operations.py", None, "attnspec_oracle/normalization"),
    "entry of the oracle": (
        *("reference_impl/attnspec_oracle/normalization/operations.py", r'"layer_norm": layer_norm'),
        "normalization/operations.py (OPERATIONS)",
    ),
    "list of mistakes": (
        *("reference_impl/attnspec_mistakes/normalization/__init__.py", r"mistakes_in\(layer_norms\)", "()"),
        "attnspec_mistakes/normalization/__init__.py (MISTAKES)",
    ),
    "function of a mistake": (
        *("reference_impl/attnspec_mistakes/normalization/layer_norms.py", r'^    "layer_norm.strides_ignored".*\n'),
        "FUNCTIONS of attnspec_mistakes.normalization.layer_norms",
    ),
    "texts of a mistake": (
        *("reference_impl/attnspec_mistakes/normalization/layer_norms.json", r'^ "layer_norm.mean_kept": \{[^}]*\},\n'),
        "layer_norms.json and FUNCTIONS",
    ),
    "clause": (
        *("spec/operations/normalization/layer_norm.md", r"^- `layer_norm\.variance` .*\n"),
        "layer_norm.md (Clauses) lacks layer_norm.variance",
    ),
    "control": (
        *("reference_impl/attnspec_controls/normalization/__init__.py", r"(?s)= \(\n    Control\(.*\n\)\n", "= ()\n"),
        "attnspec_controls/normalization/ (CONTROLS)",
    ),
    "recipes": (
        *("tools/attnspec_authoring/recipes/normalization/__init__.py", r"return with_targets\(.*\n", "return ()\n"),
        "recipes/normalization/__init__.py (its cases)",
    ),
    "target": (
        *("tools/attnspec_authoring/recipes/normalization/targets.py", r"^normalization/shifted: .*\n"),
        "targets.py (TARGETS) lacks layer_norm.mean_kept",
    ),
    "recipe of a clause": (
        *("tools/attnspec_authoring/recipes/normalization/normalization.py", r'\("mean", "precision"\)', '("mean",)'),
        "(the clauses of a case) lacks layer_norm.precision",
    ),
    "profile": (
        *("tools/attnspec/contract/normalization.json", r'"normalization": "layer norm.*"'),
        "contract/normalization.json (profiles) lacks normalization",
    ),
    "golden file": (
        *("tools/attnspec_authoring/recipes/normalization/normalization.py", r'"wide",', '"wider",'),
        "golden/ lacks 1 file of layer_norm",
    ),
    "kill matrix": (
        *("reference_impl/attnspec_mistakes/kill_matrix.json", r'^  "layer_norm": \{\n(?:   .*\n)*  \},\n'),
        "kill_matrix.json lacks 10 mistakes of layer_norm",
    ),
    "module of the reference": (
        *("reference_impl/attnspec_reference/normalization/layer_norm.py", None),
        "attnspec_reference/__init__.py imports what is not there",
    ),
    "short name": (
        *("reference_impl/attnspec_mistakes/mistake.py", r'^    "merge": "merge_states",\n'),
        "mistake.py (_OPERATIONS) lacks merge: merge_states",
    ),
    "case generator": (
        *("tools/attnspec_draws/rotary/operations/__init__.py", '"rotary_tables": CaseG', '"gone": CaseG'),
        "(CASE_GENERATORS) lacks rotary_tables",
    ),
    "trivial answers": (
        *("tools/attnspec_draws/rotary/trivial_rotary.py", '"rotary_tables": _TABLES', '"gone": _TABLES'),
        "(trivial_answers) lacks rotary_tables",
    ),
    "module of recipes": (
        *("tools/attnspec_authoring/recipes/rotary/rotary/__init__.py", "(?<=modules = [(]frequencies, )tables, "),
        "rotary/targets.py: 'rotary/tables_exchanged_inside' is there to catch",
    ),
    "picture": ("spec/pictures/layer_norm.svg", None, "spec/pictures/ lacks layer_norm.svg"),
    "picture on the page": (
        *("spec/operations/normalization/layer_norm.md", r"^!\[.*\n"),
        "layer_norm.md lacks its picture",
    ),
    "features": (
        *(
            "tools/attnspec/families/normalization/family.py",
            r"    return \[\n        \(\"a stated(.|\n)*?\n    \]\n",
            "    return None\n",
        ),
        "families/normalization/ (features)",
    ),
    "formula": (
        *(
            "tools/attnspec/families/normalization/family.py",
            r"    epsilon = number_literal\(.*\n",
            '    epsilon = {}["layer_norm"]\n',
        ),
        "families/normalization/ (formula)",
    ),
    "tolerance": (
        *(
            "tools/attnspec/families/normalization/family.py",
            r"    del operation, conventions\n",
            "    del conventions\n    operation = {}[operation]\n",
        ),
        "families/normalization/ (tolerance)",
    ),
}
"""What is forgotten: the file, its lines that go (None: all), what comes instead, and words of the sentence."""
TRIED = 12
"""Of these, those that a proof tries, others with every change: each checks the whole suite."""


@pytest.mark.proof
@pytest.mark.parametrize("entry", sorted(selection(FORGOTTEN, TRIED)))
def test_what_is_forgotten_is_named_by_one_sentence(checkout, entry):
    name, pattern, *instead, words = FORGOTTEN[entry]
    file = checkout.folder / name
    before = file.read_text("utf-8")
    if pattern is None:
        file.unlink()
    else:
        after, count = re.subn(pattern, "".join(instead), before, flags=re.MULTILINE)
        assert count == 1, count
        file.write_text(after, "utf-8")
    try:
        finished = checkout.attnspec("check", "--all")
    finally:
        file.write_text(before, "utf-8")
    assert finished.returncode == 1, (finished.stdout, finished.stderr)
    (sentence,) = finished.stderr.splitlines()
    assert words in sentence


@pytest.mark.proof
def test_a_run_of_tests_that_fails_ends_with_what_is_missing(checkout):
    file = checkout.folder / "spec" / "pictures" / "layer_norm.svg"
    before = file.read_text("utf-8")
    file.unlink()
    try:
        finished = checkout.python("-m", "pytest", "-q", "-n", "0", "tests/suite/test_complete.py", "-k", "every_list")
    finally:
        file.write_text(before, "utf-8")
    assert finished.returncode == 1
    assert "lacks layer_norm.svg" in finished.stdout.partition("= attnspec check --all =")[2]
