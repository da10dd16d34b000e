"""Writing a file in one step: what is kept, what is left alone, and what stays when it fails."""

import os
import stat
import threading

import pytest

from attnspec.base.files import replace_file


def test_a_new_file_has_the_permissions_that_others_have(tmp_path):
    (tmp_path / "ordinary").write_text("x", encoding="utf-8")
    replace_file(tmp_path / "new", "a\nb\r\nö")
    assert (tmp_path / "new").read_bytes() == "a\nb\r\nö".encode()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    replace_file(path, "new")
    assert path.read_text("utf-8") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_write_protected_file_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o444)
    # Nothing is protected from a superuser.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError) as caught:
        replace_file(path, "new")
    assert caught.value.filename == str(path)
    assert caught.value.strerror
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    for text in ("first", "second"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        replace_file(link, text)
        assert link.is_symlink()
        assert target.read_text("utf-8") == text
    assert list((tmp_path / "folder").iterdir()) == [target]


def test_a_link_in_a_circle_is_an_error(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(OSError, match="link"):
        replace_file(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    replace_file(pipe, "text")
    reader.join(10)
    assert read == ["text"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def failing(_):
        raise error

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(type(error)):
        replace_file(path, "new")
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        replace_file(path, "\ud800")
    assert path.read_text("utf-8") == "old"
    replace_file(path, "\ud800", errors="backslashreplace")
    assert path.read_text("utf-8") == "\\ud800"
