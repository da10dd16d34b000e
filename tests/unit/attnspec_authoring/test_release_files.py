"""Files of a release: the same bytes from two clones, and nothing of a state that is not released."""

import hashlib
import subprocess
import tarfile

import pytest

from attnspec.base import __version__
from attnspec.base.errors import UsageError

pytest.importorskip("jinja2", reason="the site is made with jinja2: pip install --editable '.[site]'")
from attnspec_authoring import release_files
from attnspec_authoring.release_files import main, write_release_files, write_twice

WHEEL, SOURCE = f"attnspec-{__version__}-py3-none-any.whl", f"attnspec-{__version__}.tar.gz"
SITE, VECTORS = f"attnspec-site-{__version__}.tar.gz", f"attnspec-vectors-{__version__}.tar.gz"


@pytest.mark.proof
def test_two_clean_clones_give_the_same_bytes(tmp_path):
    sums = write_twice(tmp_path / "dry", operations=["softmax"])
    assert {*sums} == {WHEEL, SOURCE, SITE, VECTORS, "NOTES.md"}
    assert {name: pair for name, pair in sums.items() if pair[0] != pair[1]} == {}
    written = tmp_path / "dry" / "second" / "files"
    for name, (digest, _) in sums.items():
        assert hashlib.sha256((written / name).read_bytes()).hexdigest() == digest
    for name, inside in (
        (SOURCE, "golden/index.json"),
        (SITE, "cases/documents/001/softmax_of_rows.html"),
        (VECTORS, "softmax/documents.json"),
    ):
        with tarfile.open(written / name) as archive:
            assert f"{name.removesuffix('.tar.gz')}/{inside}" in archive.getnames()


@pytest.fixture
def checkout(monkeypatch, tmp_path):
    """A repository with a changelog that has nothing of this version, instead of this checkout."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Soon.\n", "utf-8")
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "Begin")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    monkeypatch.setattr(release_files, "CHECKOUT", folder)
    return folder


def test_what_is_not_released_has_no_files(checkout, tmp_path):
    with pytest.raises(UsageError, match=f"{__version__} is not released: run `make released`"):
        write_release_files(tmp_path / "dist")


def test_what_is_not_committed_is_not_released(checkout, tmp_path):
    (checkout / "later.py").write_text("")
    with pytest.raises(UsageError, match="changes that are not committed"):
        write_release_files(tmp_path / "dist")


def test_a_tag_of_another_version_and_a_folder_that_holds_something_are_refused(tmp_path, capsys):
    assert main([str(tmp_path / "dist"), "--tag", "v9.9.9"]) == 2
    assert f"the tag of this version is v{__version__}" in capsys.readouterr().err
    (tmp_path / "thesis.txt").write_text("years of work")
    assert main([str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_a_dry_run_says_which_file_differs(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(release_files, "write_twice", lambda folder, operations: {WHEEL: ("a", "a"), SITE: ("b", "c")})
    assert main([str(tmp_path / "dry"), "--dry-run"]) == 1
    assert capsys.readouterr().out == f"a  {WHEEL}\n{SITE} differs: b and c\n"
