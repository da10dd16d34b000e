"""A small golden folder that has been released, to be changed at will."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from attnspec.command_line import main

GOLDEN = Path(__file__).parents[4] / "golden"
ROWS = "documents/001/softmax_of_rows"
CONTEXT = "documents/003/context_vector"
REFUSAL = "documents/003/context_vector_width_mismatch"


class GoldenFolder:
    """Golden files below a temporary folder, with an index that vouches for them."""

    def __init__(self, folder: Path, capsys) -> None:
        self.folder = folder
        self._capsys = capsys
        for case_id in (ROWS, CONTEXT, REFUSAL):
            self.add(case_id)

    def path(self, case_id: str) -> Path:
        return self.folder / f"{case_id}.json"

    def add(self, case_id: str) -> None:
        self.path(case_id).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / f"{case_id}.json", self.path(case_id))
        self.vouch()

    def remove(self, case_id: str) -> None:
        self.path(case_id).unlink()
        self.vouch()

    def edit(self, case_id: str, change) -> None:
        document = json.loads(self.path(case_id).read_text("utf-8"))
        change(document)
        self.path(case_id).write_text(json.dumps(document), "utf-8")
        self.vouch()

    def retire(self, *case_ids: str, reason: str = "It was there twice.") -> None:
        tombstone = {"revision": 1, "release": "0.2.0", "reason": reason}
        document = {"format": 1, "cases": dict.fromkeys(case_ids, tombstone)}
        (self.folder / "retired.json").write_text(json.dumps(document), "utf-8")

    def vouch(self) -> None:
        entries = {
            path.relative_to(self.folder).with_suffix("").as_posix(): {
                "revision": json.loads(path.read_bytes())["revision"],
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(self.folder.glob("*/**/*.json"))
        }
        index = {"format": 1, "count": len(entries), "cases": entries}
        (self.folder / "index.json").write_text(json.dumps(index), "utf-8")

    def attnspec(self, *arguments) -> tuple[int, str, str]:
        """Run the command line on the folder; give status, stdout and stderr."""
        status = main([*map(str, arguments), "--golden", str(self.folder)])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return status, captured.out, captured.err


@pytest.fixture
def golden(tmp_path, capsys) -> GoldenFolder:
    made = GoldenFolder(tmp_path / "golden", capsys)
    assert made.attnspec("release")[0] == 0
    return made
