"""The harness knows no operator: what belongs to a family is named in its rooms alone.

A general room holds no string constant that equals an operation, input, attribute, output, convention or profile, and
no identifier that equals an operation or a convention. Docstrings and help may give examples.
"""

import ast
import re
from pathlib import Path

import pytest

from attnspec.base.extensions import THIRD_PARTY
from attnspec.contract import CONVENTIONS, FAMILIES, IN_LAYOUT, OPERATIONS

ROOT = Path(__file__).parents[2]
HARNESS = ROOT / "tools" / "attnspec"
ROOMS = (HARNESS, *sorted((ROOT / "tools").glob("attnspec_*")))
LIBRARIES = {path.partition(":")[0].split(".")[1] for path in THIRD_PARTY.values()}
"""Libraries with adapters: what is named after one says which operations of each family it has."""
EVERYBODYS = {
    "key",
    "value",
    "output",
    "outputs",
    "x",
    "axis",
    "layout",
    "memory",
    "documents",
    "rejects",
    "long",
    "backward",
    "seed",
}
"""Words that a program needs for other things, too."""

PROFILES = {path.name for path in (ROOT / "golden").iterdir() if path.is_dir() and any(path.rglob("*.json"))}
IDENTIFIERS = {*OPERATIONS, *CONVENTIONS} - EVERYBODYS
NAMES = (
    {
        *IDENTIFIERS,
        *PROFILES,
        *(
            name
            for there in (OPERATIONS, *IN_LAYOUT.values())
            for operation in there.values()
            for name in (*operation.arguments, *operation.outputs)
        ),
    }
    - EVERYBODYS
    - set(FAMILIES)
)
"""A family itself has its name in the list of families."""
HELP = ("help", "metavar")


def is_of_a_family(path: Path) -> bool:
    """Return whether a file is of a family, by its folder or name, or the adapter of a library."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if "attnspec_adapters" in parts and any(part.split("_")[0] in LIBRARIES for part in parts[2:]):
        return True
    return "families" in parts or any(family in parts for family in FAMILIES)


def general_rooms(suffix: str) -> list[Path]:
    return [
        path
        for root in ROOMS
        for path in sorted(root.rglob(f"*{suffix}"))
        if not is_of_a_family(path) and "__pycache__" not in path.parts
    ]


def named_in_python(source: str) -> set[str]:
    """Return what belongs to a family and is named in Python, outside docstrings and help."""
    tree = ast.parse(source)
    spoken = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    spoken |= {
        id(constant)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in HELP
        for constant in ast.walk(node.value)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
            found |= {node.value} & NAMES
        found |= set(identifiers(node)) & IDENTIFIERS
    return found


def identifiers(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.keyword(arg=str(name)):
            return [name]
        case ast.alias(name=name, asname=other):
            return [*name.split("."), *([other] if other else [])]
        case _:
            return []


def named_in_javascript(source: str) -> set[str]:
    """Return what belongs to a family and is named in JavaScript, outside comments."""
    code = re.sub(r"/\*.*?\*/|(?<![:'\"`])//[^\n]*", "", source, flags=re.DOTALL)
    strings = {text for _, text in re.findall(r"""(["'`])((?:(?!\1).)*)\1""", code)}
    words = set(re.findall(r"[A-Za-z_$][\w$]*", re.sub(r"""(["'`])(?:(?!\1).)*\1""", "", code)))
    return (strings & NAMES) | (words & IDENTIFIERS)


@pytest.mark.parametrize("suffix", [".py", ".js"])
def test_no_general_room_names_anything_of_a_family(suffix):
    read = named_in_python if suffix == ".py" else named_in_javascript
    rooms = general_rooms(suffix)
    assert rooms
    found = {path.relative_to(ROOT).as_posix(): sorted(read(path.read_text("utf-8"))) for path in rooms}
    reported = [f"{path} names {', '.join(names)}" for path, names in found.items() if names]
    assert not reported, "\n".join(
        [*reported, "What belongs to a family goes to its rooms (CONTRIBUTING.md, Add a family)."]
    )


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ('TABLE = {"softmax": 1}', "softmax"),
        ('inputs["query"]', "query"),
        ('profile = "nonfinite"', "nonfinite"),
        ("def fully_masked_row(): ...", "fully_masked_row"),
        ("from attnspec_reference import causal_mask", "causal_mask"),
        ("call(input_checks=1)", "input_checks"),
    ],
)
def test_a_planted_name_is_found(planted, name):
    assert named_in_python(f'"""Says softmax."""\n{planted}\n') == {name}


@pytest.mark.parametrize("planted", ['x = 1 // softmax\nfind("weights")', "const a = `weights`;"])
def test_a_planted_name_is_found_in_javascript(planted):
    assert named_in_javascript(planted) == {"weights"}


def test_examples_in_docstrings_and_help_are_allowed():
    source = '"""softmax"""\nclick.option("--as", metavar="softmax", help="softmax")\nname = "key"\n'
    assert named_in_python(source) == set()
