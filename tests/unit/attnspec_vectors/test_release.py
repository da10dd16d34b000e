"""Release of vectors: its folder, checksums, README, and an archive of the same bytes each time."""

import hashlib
import json
import re
import tarfile
import time

import pytest

from attnspec.base import __version__
from attnspec.base.errors import UsageError
from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec_vectors import write_archive, write_release

MEGABYTES = 15


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "vectors"
    return folder, write_release(load_suite(profiles=["core", "merge"]), folder)


def test_every_file_is_listed_with_its_checksum(release):
    folder, made = release
    lines = (folder / "SHA256SUMS").read_text("ascii").splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert {hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums} == {*sums.values()}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {*made.files} == there == {*sums, "SHA256SUMS"}
    assert there == {
        "README.md",
        "SHA256SUMS",
        "merge_states/merge.json",
        "scaled_dot_product_attention/core.json",
        "vectors.schema.json",
    }
    assert made.size == sum((folder / name).stat().st_size for name in there)


def test_the_readme_has_forty_lines_and_the_rule(release):
    folder, made = release
    text = (folder / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 40
    assert "|got - expected| <= tolerance" in text
    assert not re.search(r"\{[A-Z]+\}", text)
    assert __version__ in text
    assert f"{made.tests.total():,} vectors of {len(made.tests)} operations" in text


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz"])
def test_an_archive_has_the_same_bytes_twice_and_holds_the_folder(release, tmp_path, suffix):
    folder, made = release
    first, again = tmp_path / f"first{suffix}", tmp_path / f"again{suffix}"
    size = write_archive(folder, made, first)
    other = tmp_path / "other"
    time.sleep(0.01)
    write_archive(other, write_release(load_suite(profiles=["core", "merge"]), other), again)
    assert first.read_bytes() == again.read_bytes()
    assert size == first.stat().st_size
    with tarfile.open(first) as archive:
        entries = archive.getmembers()
        assert {entry.mtime for entry in entries} == {0}
        names = [entry.name for entry in entries]
        assert names == [f"attnspec-vectors-{__version__}/{name}" for name in made.files]
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert all((unpacked / name).read_bytes() == (folder / name).read_bytes() for name in made.files)


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty"):
        write_release(load_suite(profiles=["core"]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--form", "xml"], "the forms are json, onnx, hipdnn"),
        (["--form", "hipdnn", "--archive", "vectors.tar.gz"], "an archive has the form json"),
        (["--archive", "vectors.zip"], "FILE.tar.gz or a FILE.tar.xz"),
        (["--archive", "no/such/folder/vectors.tar.gz"], "there is no folder"),
        (["--operation", "attention"], "There is no operation 'attention'"),
        (["--operation", "softmax", "--profile", "core"], "No case that is selected is one of softmax"),
    ],
)
def test_a_request_that_cannot_be_done_ends_with_a_sentence(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(["vectors", "here", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert [*tmp_path.iterdir()] == []


@pytest.mark.proof
def test_the_whole_release_is_small_and_names_each_vector_once(tmp_path):
    folder = tmp_path / "vectors"
    made = write_release(load_suite(), folder)
    size = write_archive(folder, made, tmp_path / "vectors.tar.gz")
    assert size <= MEGABYTES * 1e6
    assert sum(made.tests.values()) > 5000
    assert len((folder / "README.md").read_text("utf-8").splitlines()) <= 40
    ids = [test["id"] for path in folder.glob("*/*.json") for test in json.loads(path.read_text("utf-8"))["tests"]]
    assert len(ids) == len({*ids})
