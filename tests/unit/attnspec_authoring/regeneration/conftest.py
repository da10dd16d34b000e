"""A suite of four quick cases, so that regenerating takes no time."""

from pathlib import Path

import pytest

from attnspec_authoring.recipes import AuthoredCase
from attnspec_authoring.recipes.attention import documents
from attnspec_authoring.regeneration import writing

FEW = (
    "documents/002/causal_mask_boolean",
    "documents/003/context_vector",
    "documents/003/context_vector_width_mismatch",
    "documents/003/split_into_single_columns",
)


class Recipes:
    """What the recipes make, as far as the harness knows."""

    def __init__(self, monkeypatch) -> None:
        self._monkeypatch = monkeypatch
        every = {case.id: case for case in documents.cases()}
        self.few = tuple(every[case_id] for case_id in FEW)
        self.make(*self.few)

    def __getitem__(self, name: str) -> AuthoredCase:
        return next(case for case in self.few if case.id.endswith(f"/{name}"))

    def make(self, *cases: AuthoredCase) -> None:
        self._monkeypatch.setattr(writing, "authored_cases", lambda: cases)
        self._monkeypatch.setattr(writing, "sampled_cases", tuple)

    def exchange(self, *changed: AuthoredCase) -> None:
        by_id = {case.id: case for case in changed}
        self.make(*(by_id.get(case.id, case) for case in self.few))


@pytest.fixture
def recipes(monkeypatch) -> Recipes:
    return Recipes(monkeypatch)


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "golden"


@pytest.fixture
def texts():
    """Return every file below a folder, hidden ones too, by its path."""

    def read(folder: Path) -> dict[str, bytes]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    return read
