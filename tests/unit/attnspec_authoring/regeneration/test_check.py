"""`attnspec regenerate --check`: every byte, and nothing is written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from attnspec.base.errors import FixtureError
from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec_authoring.regeneration import check, regenerate

GOLDEN = Path(__file__).parents[4] / "golden"


def change_a_digit(path: Path) -> None:
    text = path.read_text()
    assert "0.0957869356760461" in text
    path.write_text(text.replace("0.0957869356760461", "0.0957869356760462"))


def test_nothing_is_found_in_what_was_written(recipes, folder, capsys, texts) -> None:
    """That nothing is found in what is shipped is what ``make check-goldens`` proves."""
    regenerate(folder)
    before = texts(folder)
    assert main(["regenerate", "--check", "--golden", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.endswith("every file is the same, byte for byte.\n")
    assert texts(folder) == before


def test_one_changed_digit_is_found(recipes, folder, capsys, texts) -> None:
    regenerate(folder)
    path = folder / "documents/003/context_vector.json"
    change_a_digit(path)
    before = texts(folder)
    assert main(["regenerate", "--check", "--golden", str(folder)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[0] == f"changed: {path}"
    assert "1 file is not what" in captured.err
    assert "`attnspec regenerate --all` writes" in captured.err
    assert texts(folder) == before
    with pytest.raises(FixtureError, match="SHA-256 differs"):
        load_suite(folder)


def test_a_changed_digit_that_the_index_vouches_for_is_found(recipes, folder) -> None:
    """Whoever edits a golden value by hand and repairs the index gets past reading, but not past the oracle."""
    regenerate(folder)
    path = folder / "documents/003/context_vector.json"
    change_a_digit(path)
    index = json.loads((folder / "index.json").read_text())
    index["cases"]["documents/003/context_vector"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "index.json").write_text(json.dumps(index))
    load_suite(folder)
    found = {(difference.kind, difference.path.name) for difference in check(folder, everything=True).differences}
    assert found == {("changed", "context_vector.json"), ("changed", "index.json")}
    regenerate(folder, everything=True)
    assert check(folder, everything=True).differences == ()


def test_missing_and_orphaned_files_are_found(recipes, folder, capsys, texts) -> None:
    regenerate(folder)
    (folder / "documents/002/causal_mask_boolean.json").unlink()
    (folder / "index.json").unlink()
    (folder / "documents/orphan.json").write_text("{}")
    before = texts(folder)
    assert main(["regenerate", "--check", "--golden", str(folder)]) == 1
    assert capsys.readouterr().err.splitlines()[:3] == [
        f"missing: {folder / 'documents/002/causal_mask_boolean.json'}",
        f"missing: {folder / 'index.json'}",
        f"orphan: {folder / 'documents/orphan.json'}",
    ]
    assert texts(folder) == before


def test_a_missing_folder_is_missing_files_and_stays_missing(recipes, folder) -> None:
    assert {difference.kind for difference in check(folder).differences} == {"missing"}
    assert not folder.exists()


def test_another_line_ending_is_found(recipes, folder) -> None:
    regenerate(folder)
    path = folder / "documents/003/context_vector.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [difference.path for difference in check(folder).differences] == [path]
