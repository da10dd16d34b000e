"""Bundles: golden files one behind the other give the cases that the files themselves give."""

import shutil
from pathlib import Path

import pytest

from attnspec.base.errors import FixtureError
from attnspec.cases import load_suite, read_index
from attnspec.cases.reading import SUFFIX, file_content

GOLDEN = Path(__file__).parents[4] / "golden"


@pytest.fixture
def bundled(tmp_path):
    """A folder in which one profile, with folders inside, is a bundle."""
    for record in GOLDEN.glob("*.json"):
        shutil.copy(record, tmp_path)
    for profile in (path for path in GOLDEN.iterdir() if path.is_dir()):
        files = sorted(profile.rglob("*.json"))
        (tmp_path / f"{profile.name}{SUFFIX}").write_bytes(b"".join(path.read_bytes() for path in files))
    return tmp_path


def test_it_names_and_gives_the_cases_of_the_files(bundled):
    assert read_index(bundled) == read_index(GOLDEN)
    one, other = (load_suite(folder, profiles=["documents"]) for folder in (bundled, GOLDEN))
    assert one.digest == other.digest
    assert list(one.cases) == list(other.cases)
    for case_id in ("documents/003/context_vector", "core/plain"):
        path = Path(f"{case_id}.json")
        assert file_content(bundled / path) == (GOLDEN / path).read_bytes()


def test_a_case_that_is_in_no_bundle_cannot_be_read(bundled):
    with pytest.raises(FixtureError, match=r"core/plane\.json cannot be read"):
        file_content(bundled / "core" / "plane.json")


def test_what_was_changed_in_a_bundle_is_seen(bundled):
    bundle = bundled / f"core{SUFFIX}"
    bundle.write_bytes(bundle.read_bytes().replace(b'"revision": 1', b'"revision": 2'))
    with pytest.raises(FixtureError, match="SHA-256"):
        load_suite(bundled, profiles=["core"])


def test_a_bundle_that_lacks_what_the_index_names_is_noticed_when_the_case_is_read(bundled):
    bundle = bundled / f"core{SUFFIX}"
    bundle.write_bytes(bundle.read_bytes().partition(b"\n}\n")[2])
    with pytest.raises(FixtureError, match="cannot be read"):
        load_suite(bundled, profiles=["core"])


def test_without_an_index_the_bundles_name_their_cases(bundled):
    named = sorted(read_index(bundled))
    for record in bundled.glob("*.json"):
        record.unlink()
    assert sorted(read_index(bundled)) == named
