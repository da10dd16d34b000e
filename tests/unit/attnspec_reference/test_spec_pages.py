"""The specification pages and the reference, compared with each other."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import attnspec_reference
from attnspec.contract import OPERATIONS as CONTRACT
from attnspec.contract.declarations import CHOICES
from attnspec_reference import IN_LAYOUT

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "spec" / "operations").glob("*/*.md"), key=lambda path: path.stem)
PAGE_OF = {path.stem: path for path in PAGES}
OPERATIONS = sorted(
    name
    for name in attnspec_reference.__all__
    if name.islower() and not any(name == there.__name__ for part in IN_LAYOUT.values() for there in part.values())
)
CLAUSE = re.compile(r"^- `([a-z0-9_.]+)` — (.+)$", re.MULTILINE)


def page(operation):
    return PAGE_OF[operation].read_text(encoding="utf-8")


def steps(text):
    return re.findall(r"^\d+\. \*\*(.+?)\.\*\*", text, re.MULTILINE)


def phases(operation):
    """The comments in the operation's own function."""
    source = inspect.getsource(getattr(attnspec_reference, operation))
    return re.findall(r"^ +# (.+)$", source, re.MULTILINE)


def test_there_is_a_page_for_each_operation_and_no_other():
    assert [path.stem for path in PAGES] == OPERATIONS


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_reference_follows_the_steps_of_its_page(operation):
    assert phases(operation) == steps(page(operation)) != []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_steps_are_numbered_from_one(operation):
    numbers = re.findall(r"^(\d+)\. \*\*", page(operation), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_page_names_every_argument_and_output(operation):
    function = getattr(attnspec_reference, operation)
    names = set(inspect.signature(function).parameters)
    returned = function.__annotations__["return"]
    names |= set(getattr(getattr(attnspec_reference, returned, None), "_fields", ["output"]))
    table = {
        name for row in re.findall(r"^\|.*\|$", page(operation), re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert names <= table


def test_clause_ids_are_unique():
    ids = [identifier for path in PAGES for identifier, _ in CLAUSE.findall(path.read_text(encoding="utf-8"))]
    assert len(ids) > 60
    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_clause_belongs_to_its_page_and_is_a_sentence(operation):
    short_name = CONTRACT[operation].short_name
    clauses = re.findall(r"^- `([a-z0-9_.]+)` — (.+(?:\n  .+)*)$", page(operation), re.MULTILINE)
    assert clauses
    for identifier, text in clauses:
        assert identifier.startswith(f"{short_name}.")
        assert text.endswith(".")


def test_the_page_of_conventions_lists_those_of_the_harness():
    text = (ROOT / "spec" / "conventions.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE))
    listed = {name: tuple(re.findall(r"`(\w+)`", choices)) for name, choices in rows.items()}
    assert listed == dict(CHOICES)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_module_has_a_title_and_names_its_page(operation):
    module = importlib.import_module(getattr(attnspec_reference, operation).__module__)
    assert PAGE_OF[operation].relative_to(ROOT).as_posix() in module.__doc__


def test_the_reference_never_imports_the_harness():
    for path in (ROOT / "reference_impl" / "attnspec_reference").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            assert not any(name.split(".")[0] == "attnspec" for name in imported), path.name
