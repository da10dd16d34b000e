"""What the tests of exported cases share: a program that answers them, as a user would write it."""

import json

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference
from attnspec.cases import load_suite
from attnspec.contract.dtypes import numpy_dtype
from attnspec.offline import export
from attnspec.offline.tensor_files import read_json, read_safetensors, tensors_to_json, write_npz, write_safetensors
from attnspec_mistakes.patches import by_name


def read_case(folder, entry):
    """Inputs, expected values and tolerances of an exported case, by name, from a file of any format."""
    path = folder / entry.file
    if path.suffix == ".json":
        document = json.loads(path.read_text("utf-8"))
        return [read_json(json.dumps(document[group]).encode()) for group in ("inputs", "expected", "tolerance")]
    if path.suffix == ".npz":
        with np.load(path) as archive:
            tensors = {name: archive[name] for name in archive.files}
        for name, dtype in json.loads(str(tensors["case"])).get("input_dtypes", {}).items():
            tensors[f"inputs.{name}"] = tensors[f"inputs.{name}"].view(numpy_dtype(dtype))
        if entry.dtype == "bfloat16":
            tensors = {
                name: array.view(ml_dtypes.bfloat16) if array.dtype == np.uint16 else array
                for name, array in tensors.items()
            }
    else:
        tensors = read_safetensors(path.read_bytes())
    return [
        {name.partition(".")[2]: array for name, array in tensors.items() if name.startswith(f"{group}.")}
        for group in ("inputs", "expected", "tolerance")
    ]


def write_answer(folder, entry, outputs, suffix=None):
    suffix = suffix or entry.file.rpartition(".")[2]
    contents = {
        "npz": write_npz,
        "safetensors": lambda tensors: write_safetensors(tensors, {}),
        "json": lambda tensors: json.dumps(tensors_to_json(tensors)).encode(),
    }
    path = folder / f"{entry.case}.{entry.dtype}.out.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents[suffix](outputs))
    return path


def reference(entry, inputs):
    """The outputs of the reference, by name; infinite attributes come as words."""
    words = {"inf": np.inf, "-inf": -np.inf}
    attributes = {
        name: words.get(value, value) if isinstance(value, str) else value for name, value in entry.attributes.items()
    }
    with np.errstate(all="ignore"):
        return by_name(getattr(attnspec_reference, entry.operation)(**inputs, **attributes))


def answer_all(folder, manifest, change=lambda entry, outputs: outputs, answers=None):
    """Answer every case that was exported, by the reference; what `change` gives None for is left without answer."""
    for entry in manifest.cases:
        outputs = change(entry, reference(entry, read_case(folder, entry)[0]))
        if outputs is not None:
            write_answer(answers or folder, entry, outputs)


@pytest.fixture
def exported(tmp_path):
    """Export selected cases into a folder, and return it with the manifest."""

    def make(*select, tensors="safetensors", **options):
        folder = tmp_path / "cases"
        return folder, export(load_suite(select=select), folder, tensors, **options).manifest

    return make
