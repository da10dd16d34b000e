"""Manifest of a folder of exported cases: which there are, under which conventions, and which were left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attnspec.base.errors import FixtureError, UsageError
from attnspec.cases.reading import check_against_schema

TensorFormat = Literal["npz", "safetensors", "json"]
TENSOR_FORMATS: tuple[TensorFormat, ...] = ("npz", "safetensors", "json")

MANIFEST = "export.json"
FORMAT = 1

RULE = (
    "An element is right where its tolerance is infinite, where it equals what is expected (NaN stands for NaN), or "
    "where |got - expected| <= tolerance, computed in float64."
)
BFLOAT16: Mapping[TensorFormat, str] = {
    "npz": "uint16, the upper half of the bits of the same float32",
    "safetensors": "BF16",
    "json": "numbers",
}
"""How each format holds bfloat16, in inputs and in answers."""

_LONGEST, _BEGINNING = 200, 160
"""Characters of a name: file systems take 255 bytes, and `.bfloat16.out.safetensors` comes behind it."""


class ExportedRun(NamedTuple):
    """A case in one dtype that was written to `file`: `required` outputs, and elements, `open` ones of any value."""

    case: str
    revision: int
    dtype: str
    operation: str
    file: str
    attributes: Mapping[str, Any]
    required: tuple[str, ...]
    elements: int
    open: int

    def document(self) -> dict[str, Any]:
        """Return the entry of the manifest's file, where `required` outputs are called ``owed``."""
        return {"owed" if name == "required" else name: value for name, value in self._asdict().items()}

    @classmethod
    def of_document(cls, entry: Mapping[str, Any]) -> ExportedRun:
        """Read an entry of the manifest's file."""
        return cls(**{name: entry[name] for name in entry if name != "owed"}, required=tuple(entry["owed"]))


class LeftOut(NamedTuple):
    """A case in one dtype that no file shows, and why."""

    case: str
    revision: int
    dtype: str
    operation: str
    reason: str


@dataclass(frozen=True)
class Manifest:
    """The contents of a folder of exported cases: suite, file format, conventions, cases written and left out."""

    suite_version: str
    suite_digest: str
    tensors: TensorFormat
    conventions: Mapping[str, str] = field(default_factory=dict[str, str])
    cases: tuple[ExportedRun, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def file_stem(case_id: str, dtype: str) -> str:
    """Return the name of the file of a case in a dtype, relative to the folder, without its suffix."""
    # Recipes of random cases have colons, which some systems have in no name.
    parts = case_id.replace(":", "/").split("/")
    return f"{'/'.join(map(_short, parts))}.{dtype}"


def _short(name: str) -> str:
    """Return a name, or what one begins with and a digest: what an implementation lacks can make it long."""
    return name if len(name) <= _LONGEST else f"{name[:_BEGINNING]}-{sha256(name.encode()).hexdigest()[:16]}"


def manifest_text(manifest: Manifest) -> str:
    """Return the text of a manifest, which follows ``spec/schemas/export.schema.json``."""
    document = {
        "format": FORMAT,
        "suite": {"version": manifest.suite_version, "digest": manifest.suite_digest},
        "tensors": manifest.tensors,
        "bfloat16": BFLOAT16[manifest.tensors],
        "rule": RULE,
        "conventions": dict(manifest.conventions),
        "cases": [entry.document() for entry in manifest.cases],
        "left_out": [entry._asdict() for entry in manifest.left_out],
        "count": len(manifest.cases),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; UsageError if the folder holds none, or one that is damaged."""
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        check_against_schema(path, document, "export")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); `attnspec export {folder}` writes one.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no JSON, as `attnspec export` writes it.") from None
    except FixtureError as error:
        raise UsageError(f"{error} Export the cases anew.") from None
    if document["count"] != len(document["cases"]):
        raise UsageError(
            f"{path} says {document['count']} cases at /count but names {len(document['cases'])}: it was cut or "
            "edited. Export the cases anew."
        )
    return Manifest(
        suite_version=document["suite"]["version"],
        suite_digest=document["suite"]["digest"],
        tensors=document["tensors"],
        conventions=document["conventions"],
        cases=tuple(ExportedRun.of_document(entry) for entry in document["cases"]),
        left_out=tuple(LeftOut(**entry) for entry in document["left_out"]),
    )
