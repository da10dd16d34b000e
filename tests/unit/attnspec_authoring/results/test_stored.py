"""The committed table: each file is where its content says, follows its schema, and is read without NumPy."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

from attnspec.base.extensions import BUILT_IN
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases import schema_validator
from attnspec_authoring.results import BIN_EDGES, read_defects, read_implementations, read_result, read_results, stored
from attnspec_authoring.results.stored import RESULTS, numbers

FILES = sorted(RESULTS.glob(stored.FILES))
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def golden_ids():
    return set(json.loads((GOLDEN_FOLDER / "index.json").read_text("utf-8"))["cases"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_is_sound(path, golden_ids):
    document = json.loads(path.read_text("utf-8"))
    assert [error.message for error in schema_validator("results").iter_errors(document)] == []
    result = read_result(path)
    assert (result.name, result.release) == (path.parent.name, path.stem)
    assert result.name in read_implementations()
    assert result.passed
    assert len(result.failures) == result.known + result.failed
    assert sum(failure.defect is not None for failure in result.failures) == result.known
    known = {defect.id: defect for defect in read_defects()}
    for failure in result.failures:
        assert failure.case in golden_ids
        assert failure.sentence
        assert failure.defect is None or known[failure.defect].is_in(result.name, result.version)
    for distribution in result.distributions:
        assert len(distribution.bins) == len(BIN_EDGES) + 2
        assert distribution.worst is None or distribution.worst.ratio <= 1


def test_every_built_in_adapter_has_an_entry():
    table = read_implementations()
    assert set(BUILT_IN) <= set(table)
    assert {name for name, entry in table.items() if entry.command is None} == set(BUILT_IN)


def test_the_table_stays_small():
    assert sum(path.stat().st_size for path in FILES) < 3 * MEGABYTE


def test_no_file_names_a_machine():
    for path in FILES:
        text = path.read_text("utf-8")
        assert not [folder for folder in ("/root", "/home", "/tmp", "/work", "/Users") if folder in text]


def test_results_come_by_name_and_the_newest_release_first():
    order = [(result.name, result.release) for result in read_results()]
    assert len(order) == len(FILES)
    assert [name for name, _ in order] == sorted(name for name, _ in order)
    for (name, release), (following, earlier) in pairwise(order):
        assert name != following or numbers(release) > numbers(earlier)


def test_reading_needs_no_numpy():
    program = (
        "import sys; from attnspec_authoring.results import read_defects, read_implementations, read_results; "
        "read_results(), read_defects(), read_implementations(); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
