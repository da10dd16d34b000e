"""Export of cases to files: inputs, attributes, expected outputs and tolerances."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnspec.base import __version__
from attnspec.base.errors import UsageError
from attnspec.base.files import replace_file
from attnspec.cases import Suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES, own_dtype
from attnspec.grading import MustRefuse, NotGraded, Properties, Run
from attnspec.grading.one_rule import Bounded, bounded_outputs
from attnspec.offline.manifest import MANIFEST, ExportedRun, LeftOut, Manifest, TensorFormat, file_stem, manifest_text
from attnspec.offline.tensor_files import tensors_to_json, write_npz, write_safetensors
from attnspec.process.tensors_on_the_wire import word_for
from attnspec.runner import Resolved, inputs_in_c_order, planned_runs
from attnspec.targets import Declaration


class Exported(NamedTuple):
    """The manifest of an export, and the bytes of all files beside it."""

    manifest: Manifest
    size: int


def export(
    suite: Suite,
    folder: Path,
    tensors: TensorFormat,
    *,
    dtypes: Sequence[str] = (),
    conventions: Mapping[str, str] | None = None,
) -> Exported:
    """Write the cases of a suite in some dtypes, or all, and a manifest into a new folder; `UsageError` if it is not.

    `conventions` are those that are not the normative ones.
    """
    requested = tuple(dtypes) or FLOAT_DTYPES
    declaration = Declaration("", None, "", tuple(OPERATIONS), requested, conventions or {})
    resolved = Resolved(declaration.conventions)
    written: list[ExportedRun] = []
    left_out: list[LeftOut] = []
    size = 0
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: name a new folder, so that no answer to older cases stays in it.")
        for case in suite.cases.values():
            for run in planned_runs(case, requested, declaration, resolved):
                reason = why_not_exported(run)
                if reason is not None:
                    left_out.append(LeftOut(case.id, case.revision, run.dtype, case.operation, reason))
                    continue
                outputs = bounded_outputs(run)
                entry = _entry(run, outputs, tensors)
                content = _content(run, entry, outputs, tensors)
                path = folder / entry.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                written.append(entry)
                size += len(content)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(
            __version__, suite.digest, tensors, declaration.conventions, tuple(written), tuple(left_out)
        )
        replace_file(folder / MANIFEST, manifest_text(manifest))
    except OSError as error:
        raise UsageError(f"The cases could not be written to {folder}: {error.strerror}.") from None
    return Exported(manifest, size)


def why_not_exported(run: Run) -> str | None:
    """Return why no file shows a run, as the rest of a sentence; None for one with expected values."""
    match run.expected:
        case MustRefuse():
            return "it must be refused, which no file shows"
        case Properties():
            return "it is graded by properties, not by numbers"
        case NotGraded(reason):
            return reason
        case _:
            return None


def _entry(run: Run, outputs: Mapping[str, Bounded], tensors: TensorFormat) -> ExportedRun:
    case = run.case
    return ExportedRun(
        case=case.id,
        revision=case.revision,
        dtype=run.dtype,
        operation=case.operation,
        file=f"{file_stem(case.id, run.dtype)}.{tensors}",
        attributes={
            name: word_for(value) if isinstance(value, float) else value for name, value in run.attributes.items()
        },
        required=run.operation.required(case.inputs),
        elements=sum(output.expected.size for output in outputs.values()),
        open=sum(int(np.isinf(output.tolerance).sum()) for output in outputs.values()),
    )


def _content(run: Run, entry: ExportedRun, outputs: Mapping[str, Bounded], tensors: TensorFormat) -> bytes:
    groups = {
        "inputs": inputs_in_c_order(run),
        "expected": {name: output.expected for name, output in outputs.items()},
        "tolerance": {name: output.tolerance for name, output in outputs.items()},
    }
    facts = {"case": entry.case, "dtype": entry.dtype, "operation": entry.operation, "attributes": entry.attributes}
    if tensors == "json":
        document = {**facts, **{group: tensors_to_json(named) for group, named in groups.items()}}
        return json.dumps(document, allow_nan=False).encode("ascii")
    flat = {f"{group}.{name}": array for group, named in groups.items() for name, array in named.items()}
    if tensors == "npz":
        # Of float8, the file has the bits alone.
        own = {name: own_dtype(array) for name, array in run.case.inputs.items()}
        dtypes = {"input_dtypes": {name: dtype for name, dtype in own.items() if dtype}} if any(own.values()) else {}
        return write_npz({**flat, "case": np.array(json.dumps({**facts, **dtypes}, allow_nan=False))})
    texts = {"case": entry.case, "dtype": entry.dtype, "operation": entry.operation}
    for name, value in entry.attributes.items():
        # A word stands as it is, anything else as JSON writes it.
        texts[f"attributes.{name}"] = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return write_safetensors(flat, texts)
