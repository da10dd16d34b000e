"""Archives of batches: unpacked once and whole, and no file of one ever lies outside the folder of its batch."""

import hashlib
import io
import lzma
import os
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attnspec_authoring.strangers import ArchiveError, batch_folder, batch_names, modules_of_its_own, put_away, unpacked
from attnspec_authoring.strangers.archives import LARGEST

FILES = {"batch.json": "[]", "wrong/001_one.py": "x = 1\n", "right/01_two.py": "x = 2\n"}


@pytest.fixture
def batch(tmp_path):
    folder = tmp_path / "made" / "batch_1"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def member(name, content=b"x", **fields):
    made = tarfile.TarInfo(name)
    made.size = len(content)
    for field, value in fields.items():
        setattr(made, field, value)
    return made, content


def archive(folder, *members, compressed=lzma.compress):
    """An archive of whatever members somebody made up, under the name of batch_1."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as writing:
        for made, content in members:
            writing.addfile(made, io.BytesIO(content))
    path = folder / "batch_1.tar.xz"
    path.write_bytes(compressed(tar.getvalue()))
    return path


def everything_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_the_files_come_back_as_they_were(batch, tmp_path):
    put_away(batch, tmp_path)
    found = unpacked("batch_1", tmp_path, tmp_path / "cache")
    assert {path.relative_to(found).as_posix(): path.read_text() for path in found.rglob("*.*")} == FILES
    assert found.name == "batch_1"
    assert everything_in(tmp_path / "cache") == {
        path.relative_to(tmp_path / "cache").as_posix() for path in (found.parent, found, *found.rglob("*"))
    }


def test_the_same_files_give_the_same_bytes_whoever_packs_them_and_when(batch, tmp_path, monkeypatch):
    first = put_away(batch, tmp_path).read_bytes()
    found = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda folder, pattern: reversed([*found(folder, pattern)]))
    (tmp_path / "batch_1.tar.xz").unlink()
    for path in batch.rglob("*.py"):
        os.utime(path, (1, 1))
        path.chmod(0o755)
    (batch / "wrong" / "__pycache__").mkdir()
    (batch / "wrong" / "__pycache__" / "001_one.pyc").write_bytes(b"compiled")
    assert put_away(batch, tmp_path).read_bytes() == first
    with tarfile.open(tmp_path / "batch_1.tar.xz") as reading:
        members = reading.getmembers()
    assert [made.name for made in members] == [f"batch_1/{name}" for name in sorted(FILES)]
    assert {(made.mtime, made.uid, made.gid, made.uname, made.mode) for made in members} == {(0, 0, 0, "", 0o644)}


def test_what_is_unpacked_is_left_alone_and_another_archive_has_a_folder_of_its_own(batch, tmp_path, monkeypatch):
    put_away(batch, tmp_path)
    first = unpacked("batch_1", tmp_path, tmp_path / "cache")
    with monkeypatch.context() as without:
        without.delattr(lzma, "LZMADecompressor")
        assert unpacked("batch_1", tmp_path, tmp_path / "cache") == first
    (tmp_path / "batch_1.tar.xz").unlink()
    (batch / "batch.json").write_text("[1]")
    put_away(batch, tmp_path)
    second = unpacked("batch_1", tmp_path, tmp_path / "cache")
    assert [(folder / "batch.json").read_text() for folder in (first, second)] == ["[]", "[1]"]


def test_many_may_unpack_at_once(batch, tmp_path):
    put_away(batch, tmp_path)
    for attempt in range(10):
        cache = tmp_path / f"cache_{attempt}"
        with ThreadPoolExecutor(8) as pool:
            found = set(pool.map(lambda _, cache=cache: unpacked("batch_1", tmp_path, cache), range(8)))
        assert len(found) == 1
        assert len([*cache.iterdir()]) == 1
        assert {path.read_text() for path in found.pop().rglob("*.*")} == {*FILES.values()}


def test_what_could_not_be_moved_into_its_folder_leaves_nothing_behind(batch, tmp_path, monkeypatch):
    put_away(batch, tmp_path)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(ArchiveError, match=r"cannot be unpacked into .*Permission denied"):
        unpacked("batch_1", tmp_path, tmp_path / "cache")
    assert everything_in(tmp_path / "cache") == set()


LINK, HARD, DEVICE, PIPE, FOLDER = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("/etc/passwd"), "is no name of a file in batch_1"),
        (member("batch_1/../../outside.py"), "is no name of a file in batch_1"),
        (member("../outside.py"), "is no name of a file in batch_1"),
        (member("batch_2/wrong/001_one.py"), "is no name of a file in batch_1"),
        (member("outside.py"), "is no name of a file in batch_1"),
        (member("batch_1"), "is no name of a file in batch_1"),
        (member("batch_1//outside.py"), "is no name of a file in batch_1"),
        (member("batch_1/./outside.py"), "is no name of a file in batch_1"),
        (member("batch_1/.hidden/outside.py"), "is no name of a file in batch_1"),
        (member("batch_1/..\\outside.py"), "is no name of a file in batch_1"),
        (member("batch_1/C:outside.py"), "is no name of a file in batch_1"),
        (member("batch_1/new\nline.py"), "is no name of a file in batch_1"),
        (member("batch_1/link", b"", type=LINK, linkname="../../outside"), "is no plain file"),
        (member("batch_1/link", b"", type=HARD, linkname="batch_1/first.py"), "is no plain file"),
        (member("batch_1/device", b"", type=DEVICE), "is no plain file"),
        (member("batch_1/pipe", b"", type=PIPE), "is no plain file"),
        (member("batch_1/folder", b"", type=FOLDER), "is no plain file"),
        (member("batch_1/far.py", b"", pax_headers={"path": "batch_1/../../outside.py"}), "is no name of a file"),
        (
            member("batch_1/holes", b"", pax_headers={"GNU.sparse.size": str(2**40), "GNU.sparse.map": "0,0"}),
            "is no plain file",
        ),
        (member("batch_1/first.py"), "twice"),
        (member("batch_1/first.py/second.py"), "cannot be unpacked"),
    ],
    ids=lambda value: value[0].name if isinstance(value, tuple) else "",
)
def test_a_hostile_archive_is_refused_and_writes_nothing(bad, words, tmp_path):
    archive(tmp_path, member("batch_1/first.py"), bad)
    before = everything_in(tmp_path)
    with pytest.raises(ArchiveError, match=words):
        unpacked("batch_1", tmp_path, tmp_path / "cache")
    assert everything_in(tmp_path) - {"cache"} == before


@pytest.mark.parametrize(
    ("compressed", "words"),
    [
        (lambda tar: lzma.compress(tar)[:-20], "is damaged"),
        (lambda tar: lzma.compress(tar) + b"more", "is damaged"),
        (lambda tar: b"no archive at all", "is damaged"),
        (lambda tar: lzma.compress(b"no tar at all" * 100), "is damaged"),
        (lambda tar: lzma.compress(tar[:700]), "is damaged"),
        (lambda tar: lzma.compress(b""), "is damaged"),
        (lambda tar: lzma.compress(bytes(10240)), "is empty"),
        (lambda tar: lzma.compress(bytes(LARGEST + 1)), "comes to more than"),
    ],
)
def test_a_damaged_archive_is_reported_in_a_sentence(compressed, words, tmp_path):
    archive(tmp_path, member("batch_1/first.py", bytes(5000)), compressed=compressed)
    with pytest.raises(ArchiveError, match=words):
        unpacked("batch_1", tmp_path, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["batch_2", "../batch_1", "batch_1.tar.xz", "", "batch_"])
def test_a_batch_that_is_not_there_is_reported_with_those_that_are(name, batch, tmp_path):
    put_away(batch, tmp_path)
    with pytest.raises(ArchiveError, match=r"There is no batch .* take one of batch_1\."):
        unpacked(name, tmp_path, tmp_path / "cache")


def test_a_name_does_not_lead_out_of_the_folder_of_archives(batch, tmp_path):
    put_away(batch, tmp_path)
    (tmp_path / "inner").mkdir()
    with pytest.raises(ArchiveError, match=r"There is no batch '\.\./batch_1'"):
        unpacked("../batch_1", tmp_path / "inner", tmp_path / "cache")


def test_a_batch_is_put_away_once(batch, tmp_path):
    put_away(batch, tmp_path)
    with pytest.raises(ArchiveError, match="a batch is put away once"):
        put_away(batch, tmp_path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda batch: (batch / "link.py").symlink_to("/etc/passwd"), "is no plain file"),
        (lambda batch: (batch / "folder").symlink_to(batch.parent), "is no plain file"),
        (lambda batch: os.mkfifo(batch / "pipe"), "is no plain file"),
        (lambda batch: (batch / "two words.py").write_text(""), "is no name of a file"),
        (lambda batch: (batch / "large.py").write_bytes(bytes(LARGEST + 1)), "more than"),
        (lambda batch: batch.rename(batch.with_name("strangers")), "is not named like a batch"),
    ],
)
def test_what_no_archive_may_hold_is_not_put_away(spoil, words, batch, tmp_path):
    spoil(batch)
    (folder,) = batch.parent.iterdir()
    with pytest.raises(ArchiveError, match=words):
        put_away(folder, tmp_path)
    assert not [*tmp_path.glob("*.tar.xz")]


def test_a_folder_is_taken_as_it_is_and_a_name_as_that_of_an_archive(tmp_path, monkeypatch):
    name = Path(batch_names()[0])
    assert batch_folder(name) == unpacked(str(name))
    assert batch_folder(tmp_path) == tmp_path
    assert batch_folder(Path("/nowhere")) == Path("/nowhere")
    monkeypatch.chdir(tmp_path)
    name.mkdir()
    assert batch_folder(name) == name


def test_modules_of_a_batch_are_forgotten_and_others_are_not(batch):
    (batch / "base.py").write_text("VALUE = 1\n")
    path = [*sys.path]
    with modules_of_its_own(batch):
        sys.path.insert(0, str(batch))
        __import__("base")
        assert "base" in sys.modules
    assert "base" not in sys.modules
    assert sys.path == path
    assert hashlib.__name__ in sys.modules
