"""`attnspec export`: what a folder of cases holds."""

import json

import numpy as np
import pytest

import attnspec
from attnspec.cases import schema_validator
from attnspec.command_line import main
from attnspec.offline import read_manifest

from .conftest import read_case, reference

FORMATS = ("npz", "safetensors", "json")
PLAIN = "core/plain"


@pytest.mark.parametrize("tensors", FORMATS)
def test_a_file_holds_what_attnspec_case_gives(exported, tensors):
    folder, manifest = exported(
        PLAIN,
        "sinks/b*",
        "nonfinite/nan_in_query",
        "quantized/query_grouped",
        "quantized/values_alone",
        tensors=tensors,
    )
    assert {entry.dtype for entry in manifest.cases} == {"float64", "float32", "float16", "bfloat16"}
    for entry in manifest.cases:
        case = attnspec.case(entry.case, entry.dtype)
        for read, given in zip(read_case(folder, entry), (case.inputs, case.expected, case.tolerance), strict=True):
            assert read.keys() == given.keys()
            for name, array in given.items():
                assert read[name].dtype == array.dtype
                np.testing.assert_array_equal(read[name].astype(np.float64), array.astype(np.float64))
        assert (entry.operation, entry.required) == (case.operation, case.required)


@pytest.mark.parametrize("tensors", FORMATS)
def test_a_file_says_what_it_is(exported, tensors):
    folder, manifest = exported("window/*", tensors=tensors, dtypes=["float32"])
    entry = next(entry for entry in manifest.cases if "window" in entry.attributes)
    content = (folder / entry.file).read_bytes()
    window = entry.attributes["window"]
    if tensors == "safetensors":
        length = int.from_bytes(content[:8], "little")
        facts = json.loads(content[8 : 8 + length])["__metadata__"]
        assert json.loads(facts["attributes.window"]) == window
    else:
        document = json.loads(content) if tensors == "json" else None
        with np.load(folder / entry.file) if document is None else open(folder / entry.file, "rb") as archive:  # noqa: PTH123
            facts = document or json.loads(str(archive["case"]))
        assert facts["attributes"] == dict(entry.attributes)
    assert (facts["case"], facts["dtype"], facts["operation"]) == (entry.case, "float32", entry.operation)


def test_the_manifest_follows_its_schema_and_reads_back(exported):
    folder, manifest = exported("documents/*", "rejects/batch_*", conventions={"fully_masked_row": "nan"})
    document = json.loads((folder / "export.json").read_text("utf-8"))
    validator = schema_validator("export")
    validator.check_schema(validator.schema)
    validator.validate(document)
    assert read_manifest(folder) == manifest
    assert document["conventions"] == {"fully_masked_row": "nan"}
    assert document["count"] == len(manifest.cases)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"export.json", *(entry.file for entry in manifest.cases)}


def test_what_no_file_shows_is_left_out_with_its_reason(exported):
    _, manifest = exported(PLAIN, "rejects/batch_of_one", "documents/002/glorot_normal_seed_7", dtypes=["float64"])
    assert {entry.case for entry in manifest.cases} == {PLAIN}
    reasons = {entry.case: entry.reason for entry in manifest.left_out}
    assert reasons == {
        "rejects/batch_of_one": "it must be refused, which no file shows",
        "documents/002/glorot_normal_seed_7": "it is graded by properties, not by numbers",
    }


def test_a_convention_changes_what_is_expected_or_leaves_it_out(exported):
    case = "documents/002/attention_fully_masked_row"
    folder, manifest = exported(case, conventions={"fully_masked_row": "nan"}, dtypes=["float64"])
    assert np.isnan(read_case(folder, manifest.cases[0])[1]["output"]).any()
    (left_out,) = _manifest_under(folder.parent / "refused", case, {"fully_masked_row": "refuse"}).left_out
    assert left_out.reason == "it must be refused, which no file shows"


def _manifest_under(folder, case, conventions):
    from attnspec.cases import load_suite
    from attnspec.offline import export

    return export(load_suite(select=(case,)), folder, "json", dtypes=["float64"], conventions=conventions).manifest


def test_open_elements_are_counted(exported):
    folder, manifest = exported("nonfinite/hidden_by_*", conventions={"masked_nonfinite": "propagates"})
    assert any(entry.open for entry in manifest.cases)
    for entry in manifest.cases:
        _, expected, tolerance = read_case(folder, entry)
        assert entry.elements == sum(array.size for array in expected.values())
        assert entry.open == sum(int(np.isinf(array).sum()) for array in tolerance.values())


def test_the_reference_keeps_to_the_rule_of_the_manifest(exported):
    """In every dtype of cases of all kinds, by the numbers of the files alone."""
    folder, manifest = exported("masking/*", "stress/*", "nonfinite/*", "rotary/tables_*", "documents/*", tensors="npz")
    seen = 0
    for entry in manifest.cases:
        inputs, expected, tolerance = read_case(folder, entry)
        got = reference(entry, inputs)
        for name in expected.keys() & got.keys():
            numbers = got[name].astype(np.float64)
            with np.errstate(all="ignore"):
                right = np.isinf(tolerance[name]) | (np.abs(numbers - expected[name]) <= tolerance[name])
            right |= (numbers == expected[name]) | (np.isnan(numbers) & np.isnan(expected[name]))
            assert right.all(), (entry.case, entry.dtype, name)
            seen += 1
    assert seen > 500


def test_the_command_selects_and_says_what_it_wrote(tmp_path, capsys):
    folder = tmp_path / "new" / "cases"
    words = ("--profile", "core", "--profile", "rejects", "--dtype", "float32")
    operation = ("--operation", "scaled_dot_product_attention")
    assert main(["export", str(folder), "--format", "json", *words, *operation]) == 0
    manifest = read_manifest(folder)
    assert {entry.dtype for entry in manifest.cases} == {"float32"}
    assert {entry.operation for entry in (*manifest.cases, *manifest.left_out)} == {"scaled_dot_product_attention"}
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{len(manifest.cases)} files written to {folder}, ")
    assert second == f"{len(manifest.left_out)} left out, with the reasons there."
    assert third.endswith(f"attnspec grade {folder}")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--format", "hdf5"), "--format hdf5: the formats are npz, safetensors, json."),
        (("--format", "npz", "--operation", "attention"), "There is no operation 'attention'"),
        (("--format", "npz", "--profile", "core", "--operation", "softmax"), "No case that is selected is one of"),
        (("--format", "npz", "--select", "core/plan"), "Did you mean core/plain"),
        (("--format", "npz", "--dtype", "float8"), "There is no dtype 'float8'"),
        (("--format", "npz", "--convention", "mood=good"), "the unknown convention 'mood'"),
        ((), "Missing option '--format'"),
    ],
)
def test_what_cannot_be_exported_ends_with_2(words, sentence, tmp_path, capsys):
    assert main(["export", str(tmp_path / "cases"), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "cases").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    assert main(["export", str(tmp_path), "--format", "npz", "--select", PLAIN]) == 2
    assert "is not empty: name a new folder" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "mine.txt" / "cases"), "--format", "npz", "--select", PLAIN]) == 2
    assert "could not be written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
