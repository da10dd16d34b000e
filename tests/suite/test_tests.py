"""Tests mirror the source: a folder of `tests/unit` is a room, and every old test file has a known end."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"
SOURCES = ("tools", "reference_impl")


def test_every_folder_of_unit_is_a_room_or_a_module_of_the_source():
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    astray = {
        folder.as_posix()
        for folder in folders
        if not any((ROOT / top / folder).is_dir() or (ROOT / top / f"{folder}.py").is_file() for top in SOURCES)
    }
    assert not astray
    assert len(folders) > 30


def test_every_old_test_file_is_somewhere_or_has_a_reason():
    lines = (ROOT / "tests" / "moved.tsv").read_text(encoding="utf-8").splitlines()
    ends = dict(line.split("\t") for line in lines)
    assert len(ends) == len(lines) > 350
    lost = {old: end for old, end in ends.items() if end.startswith("tests/") and not (ROOT / end).exists()}
    assert not lost
