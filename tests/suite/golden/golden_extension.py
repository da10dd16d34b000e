"""The golden files as syrupy's snapshots, in the folder in which they are shipped.

A snapshot's name is the file's path below the folder, without the suffix. Nothing is ever discovered as unused,
because syrupy deletes what is unused: orphans are found by the test of the file set and removed by
``attnspec regenerate``, and whatever else lies in the folder is nobody's business.
"""

from __future__ import annotations

from pathlib import Path

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension

from attnspec.base.files import replace_file

WIDTH = 100
"""So much of a line is shown around the first character that differs."""


class GoldenFileExtension(SingleFileSnapshotExtension):
    """Bytes in, bytes out; a difference is shown as the lines that differ, cut to where they do."""

    file_extension = "json"
    folder = Path(__file__).parents[3] / "golden"

    @classmethod
    def dirname(cls, *, test_location) -> str:
        return str(cls.folder)

    @classmethod
    def discovery_dirname(cls, *, test_location) -> str:
        return str(cls.folder)

    @classmethod
    def get_file_basename(cls, *, test_location, index) -> str:
        return str(index)

    @classmethod
    def get_snapshot_name(cls, *, test_location, index=0) -> str:
        return f"{test_location.methodname}[{index}]"

    @classmethod
    def matches_test_location(cls, *, test_location, snapshot_location) -> bool:
        return Path(snapshot_location).is_relative_to(cls.folder)

    def discover_snapshots(self, *, test_location, ignore_extensions=None) -> SnapshotCollections:
        return SnapshotCollections()

    def delete_snapshots(self, *, snapshot_location, snapshot_names) -> None:
        raise AssertionError(f"{snapshot_location} is not syrupy's to delete")

    def serialize(self, data, *, exclude=None, include=None, matcher=None) -> bytes:
        return data.encode("utf-8")

    @classmethod
    def write_snapshot_collection(cls, *, snapshot_collection, name_order=None) -> None:
        for snapshot in snapshot_collection:
            replace_file(Path(snapshot_collection.location), snapshot.data.decode("utf-8"))

    def diff_lines(self, serialized_data, snapshot_data):
        """Yield the first lines that differ; a whole diff of ten thousand numbers helps nobody."""
        wanted = (serialized_data or b"").decode("utf-8", errors="replace").splitlines()
        present = (snapshot_data or b"").decode("utf-8", errors="replace").splitlines()
        length = max(len(wanted), len(present))
        pairs = zip(wanted + [""] * (length - len(wanted)), present + [""] * (length - len(present)), strict=True)
        differing = [(number, left, right) for number, (left, right) in enumerate(pairs, 1) if left != right]
        for number, left, right in differing[:3]:
            column = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
            start = max(0, column - WIDTH // 2)
            yield f"line {number}, column {column + 1}"
            yield f"  in the file: {right[start : start + WIDTH]}"
            yield f"  by recipe:   {left[start : start + WIDTH]}"
        yield f"{len(differing)} of {length} lines differ"
