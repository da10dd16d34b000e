"""A small golden folder of three real files, to be damaged at will."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[4] / "golden"
CONTEXT = "documents/003/context_vector"
REFUSAL = "documents/003/context_vector_width_mismatch"
BOOLEAN = "documents/002/causal_mask_boolean"


class GoldenCopy:
    """Golden files below a temporary folder, with an index that vouches for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for case_id in (CONTEXT, REFUSAL, BOOLEAN):
            self.path(case_id).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(GOLDEN / f"{case_id}.json", self.path(case_id))
        self.index = folder / "index.json"
        self.vouch()

    def path(self, case_id: str = CONTEXT) -> Path:
        return self.folder / f"{case_id}.json"

    def vouch(self) -> None:
        """Write an index with the digests of the files as they are now."""
        files = sorted(path for path in self.folder.rglob("*.json") if path != self.index)
        entries = {
            path.relative_to(self.folder).with_suffix("").as_posix(): {
                "revision": 1,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in files
        }
        self.index.write_text(json.dumps({"format": 1, "count": len(entries), "cases": entries}))

    def edit_index(self, change) -> None:
        index = json.loads(self.index.read_text())
        change(index)
        self.index.write_text(json.dumps(index))

    def edit(self, change, case_id: str = CONTEXT) -> None:
        """Load a case, change the document itself, write it back."""
        document = json.loads(self.path(case_id).read_text())
        change(document)
        self.path(case_id).write_text(json.dumps(document))


@pytest.fixture
def golden(tmp_path) -> GoldenCopy:
    return GoldenCopy(tmp_path / "golden")
