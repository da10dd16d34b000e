"""The committed defects: the file, what each excuses, and that the evidence still stands."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

from attnspec.base.errors import FixtureError
from attnspec.contract import OPERATIONS
from attnspec_authoring.results import read_defects, read_implementations
from attnspec_authoring.results.defects import DEFECTS
from attnspec_authoring.results.stored import numbers

KNOWN = read_defects()


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.id)
def test_the_evidence_still_stands(known):
    for modules in re.findall(r"^(?:import|from) ([\w., ]+?)(?: import .+)?$", known.reproduction, re.MULTILINE):
        for library in (module.partition(".")[0] for module in modules.split(", ")):
            if find_spec(library) is None:
                pytest.skip(f"{library} is not installed")
            if known.last_version is not None and numbers(version(library)) > numbers(known.last_version):
                pytest.skip(f"{library} {version(library)} is without it")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", known.reproduction],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == known.measured


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.id)
def test_every_name_exists(known):
    operation = OPERATIONS["scaled_dot_product_attention"]
    assert set(known.implementations) <= set(read_implementations())
    assert set(known.states) <= set(operation.arguments)
    assert set(known.outputs) <= set(operation.outputs)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.13.0", True), ("2.13.0+cpu", True), ("2.14", True), ("2.12.9", False), (None, False), ("nightly", False)],
)
def test_a_version_is_compared_with_the_first(defect, version, expected):
    assert defect().is_in("torch", version) is expected


@pytest.mark.parametrize(("version", "expected"), [("2.14.0", True), ("2.14.1", False), ("2.9", False)])
def test_a_version_is_compared_with_the_last(defect, version, expected):
    assert defect(last_version="2.14.0").is_in("torch", version) is expected


def test_another_implementation_does_not_have_it(defect):
    assert not defect().is_in("onnx", "2.13.0")


@pytest.mark.parametrize(
    ("changes", "of_the_defect"),
    [
        ({"dtype": "float64"}, {}),
        ({"status": "error"}, {}),
        ({"status": "crash"}, {}),
        ({}, {"cases": ("masking/*",)}),
        ({}, {"outputs": ("weights",)}),
        ({}, {"states": ("x", "axis", "scale")}),
    ],
)
def test_what_is_not_its_doing_is_not_excused(defect, result, cases, changes, of_the_defect):
    entry = result()
    assert defect(states=("x",), outputs=("output",)).excuses(entry, cases[entry["case"]])
    assert not defect(**of_the_defect).excuses(result(**changes), cases[entry["case"]])


def test_a_damaged_file_is_distinguished_from_a_good_one(tmp_path):
    document = json.loads(DEFECTS.read_text("utf-8"))
    path = tmp_path / "defects.json"
    path.write_text(json.dumps(document | {"defects": [{"id": "Without Evidence"}]}), "utf-8")
    with pytest.raises(FixtureError, match=r"defects.json does not follow its schema at \$.defects\[0\]"):
        read_defects(path)
    path.write_text(json.dumps(document | {"defects": document["defects"][:1] * 2}), "utf-8")
    with pytest.raises(FixtureError, match="names the defect 'torch_flash_nan_query_row' 2 times"):
        read_defects(path)
