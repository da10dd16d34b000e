"""Certified rows of cases whose inputs are generated, kept as they come, so that a kill loses one.

They lie in ``.cache/rows/``, a file a case, named by a digest of all that its rows depend on, so that a later run
computes what is missing. A certified number is unique: nothing that is read there can be stale.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.cases import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_authoring.recipes import AuthoredCase
    from attnspec_oracle import RowByRow

FOLDER = Path(__file__).resolve().parents[3] / ".cache" / "rows"


class KeptRows:
    """Certified elements of a case that are known already, in a file, a line a row; a path of None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, int], float] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def of(self, output: str, index: int) -> float | None:
        """Return an element of an output by its flat index, or None where it is not known."""
        return self._known.get((output, index))

    def add(self, output: str, indices: Sequence[int], values: Sequence[float]) -> None:
        """Keep elements of an output."""
        self._known.update(zip(((output, index) for index in indices), values, strict=True))
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Python writes an infinity as a word that it reads again.
            line = json.dumps([output, list(indices), list(values)])
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def _read(self, line: str) -> None:
        try:
            output, indices, values = json.loads(line)
            self._known.update(zip(((output, index) for index in indices), values, strict=True))
        except (TypeError, ValueError):
            pass  # the line that was being written when the process was killed


def certified_rows(case: AuthoredCase, document: Mapping[str, Any], *, cached: bool) -> dict[str, NDArray[Any]]:
    """Certify the sampled elements of every output of a case, in the order of its sample.

    `document` is the authored part of its JSON, with digests of generated inputs; `cached` takes known rows and keeps
    new ones. `RecipeError` where the oracle cannot compute it, `ImportError` without its arithmetic library.
    """
    import attnspec_oracle as oracle

    kept = KeptRows(FOLDER / f"{_digest(document)}.jsonl" if cached else None)
    missing = {
        output: [index for index in case.sample[output] if kept.of(output, index) is None] for output in case.outputs
    }
    if any(missing.values()):
        try:
            by_row = oracle.row_by_row(case.operation, _drawn(case), case.attributes)
            _fill(kept, by_row, missing)
        except (oracle.OracleError, ValueError) as error:
            raise RecipeError(f"{case.id}: the oracle cannot compute it: {error}") from None
    return {output: np.array([kept.of(output, index) for index in case.sample[output]]) for output in case.outputs}


def _fill(kept: KeptRows, by_row: RowByRow, missing: Mapping[str, Sequence[int]]) -> None:
    for row, wanted in by_row.rows(missing).items():
        for output, values in by_row.evaluate(row, wanted).items():
            kept.add(output, wanted[output], values)


def _drawn(case: AuthoredCase) -> dict[str, NDArray[Any]]:
    """Return the inputs of a case, each drawn once."""
    return {name: case.inputs[name] for name in case.inputs}


def _digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all that the elements of a case depend on."""
    parts = {part: document[part] for part in ("operation", "inputs", "attributes")}
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()
