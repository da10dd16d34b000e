"""`attnspec grade`: the verdicts of a run, from answers in files, and nothing claimed that files do not show."""

import json

import ml_dtypes
import numpy as np
import pytest
from kernels.pulling import adapter

from attnspec.cases import load_suite, schema_validator
from attnspec.command_line import main
from attnspec.offline import read_manifest
from attnspec_mistakes.patches import by_name

from .conftest import answer_all, read_case, reference, write_answer

SELECT = ("core/*", "documents/00[12]/*", "nonfinite/nan_in_*")
SCALE = ("systematic/scaled_dot_product_attention/scale", "bfloat16")
SOME = ("core/p*", "core/s*", "documents/001/softmax_*", "documents/002/glorot_normal_seed_7", "nonfinite/nan_in_*")


@pytest.fixture
def grade(tmp_path, capsys):
    """Grade a folder, and return the exit status, what was printed and the report."""

    def run(folder, *words):
        path = tmp_path / "report.json"
        path.unlink(missing_ok=True)
        status = main(["grade", str(folder), "--report", str(path), *words])
        captured = capsys.readouterr()
        report = json.loads(path.read_text("utf-8")) if path.exists() else None
        return status, captured.out + captured.err, report

    return run


def statuses(report):
    return {(result["case"], result["dtype"]): result["status"] for result in report["results"]}


@pytest.mark.parametrize("tensors", ["npz", "safetensors", "json"])
def test_right_answers_conform_in_each_format(exported, grade, tensors):
    # A format is one for all cases: two of the three are tried on some.
    folder, manifest = exported(*(SELECT if tensors == "safetensors" else SOME), tensors=tensors)
    answer_all(folder, manifest)
    status, out, report = grade(folder, "--name", "my device")
    assert status == 0, out
    assert set(statuses(report).values()) == {"pass", "unsupported"}
    assert {key for key, status in statuses(report).items() if status == "pass"} == {
        (entry.case, entry.dtype) for entry in manifest.cases
    }
    assert "my device conforms in part" in out


@pytest.mark.parametrize(("scale", "failures"), [(1.0, set()), (1.003, {SCALE})])
def test_a_scale_that_is_a_little_off_is_found_over_all_files(exported, grade, scale, failures):
    # Each answer lies within its tolerance; together they pull one way.
    folder, manifest = exported("core/*", "masking/*", dtypes=["bfloat16"])
    attend = adapter(chained=False, scale=scale).scaled_dot_product_attention
    for entry in manifest.cases:
        with np.errstate(all="ignore"):
            write_answer(folder, entry, by_name(attend(**read_case(folder, entry)[0], **entry.attributes)))
    status, out, report = grade(folder)
    assert (status, {key for key, found in statuses(report).items() if found == "fail"}) == (bool(failures), failures)
    assert ("The scale is 1.00" in out) == bool(failures)


def test_nothing_answered_does_not_conform(exported, grade):
    folder, _ = exported("core/*")
    status, out, report = grade(folder)
    assert status == 1
    assert report["summary"]["conformance"] == "nothing graded"
    assert {result["message"] for result in report["results"]} == {"no answer"}
    assert "nothing could be graded" in out


def test_cases_that_hold_nothing_that_was_graded_do_not_conform(exported, grade):
    folder, manifest = exported("rejects/batch_*")
    assert not manifest.cases
    status, _, report = grade(folder)
    assert (status, report["summary"]["conformance"]) == (1, "nothing graded")


def test_what_has_no_answer_is_unsupported_and_keeps_from_conforming_wholly(exported, grade):
    folder, manifest = exported("core/*", dtypes=["float64", "float32"])
    answer_all(folder, manifest, lambda entry, outputs: outputs if entry.dtype == "float32" else None)
    status, out, report = grade(folder)
    assert status == 0
    missing = {key[1] for key, status in statuses(report).items() if status == "unsupported"}
    assert missing == {"float64"}
    assert "no answer" in out


def test_an_operation_without_any_answer_is_not_offered(exported, grade):
    folder, manifest = exported(*SELECT, "rotary/tables_*", dtypes=["float64"])
    others = {entry.operation for entry in (*manifest.cases, *manifest.left_out)} - {"softmax", "rotary_tables"}
    answer_all(folder, manifest, lambda entry, outputs: outputs if entry.operation == "softmax" else None)
    status, _, report = grade(folder)
    assert status == 0
    messages = {result["message"] for result in report["results"] if result["operation"] != "softmax"}
    assert messages == {f"{operation} is not offered" for operation in others}
    assert report["left_out"].keys() == {"rotary"}


def test_no_clause_is_claimed_that_files_do_not_show(exported, grade):
    folder, manifest = exported("core/*", "memory/readonly_*", dtypes=["float64"])
    answer_all(folder, manifest)
    status, out, report = grade(folder)
    assert status == 0
    assert report["summary"]["conformance"] == "conforms in part"
    shown = {clause for result in report["results"] for clause in result["clauses"]}
    assert shown
    assert not any(clause.endswith((".repeatable", ".inputs_unchanged", ".memory_layout")) for clause in shown)
    cases = load_suite(select=("core/*", "memory/readonly_*")).cases
    exercised = {clause for result in report["results"] for clause in cases[result["case"]].clauses}
    assert report["summary"]["clauses"] == len(exercised)
    assert report["summary"]["clauses_graded"] == len(shown)
    assert {result["same_bits"] for result in report["results"]} == {None}
    assert "not whether a second call gives them again" in " ".join(out.split())


def test_a_wrong_answer_is_diagnosed_as_in_a_run(exported, grade):
    folder, manifest = exported("core/*", dtypes=["float64"])
    cases = load_suite(select=("core/*",)).cases

    def without_scale(entry, outputs):
        inputs = cases[entry.case].inputs
        if "scale" in entry.attributes or set(inputs) != {"query", "key", "value"}:
            return {"output": outputs["output"]}
        heads = inputs["query"].shape[1] // inputs["key"].shape[1]
        key, value = (np.repeat(inputs[name], heads, axis=1) for name in ("key", "value"))
        scores = inputs["query"] @ key.swapaxes(-1, -2)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return {"output": weights / weights.sum(axis=-1, keepdims=True) @ value}

    answer_all(folder, manifest, without_scale)
    status, out, report = grade(folder)
    assert status == 1
    assert [entry["mistake"] for entry in report["diagnosis"]] == ["sdpa.scale_missing"]
    assert "The scores were not scaled." in out
    schema_validator("report").validate(report)


def changed_answers(exported, **changes):
    """Four cases, each answered in its own way."""
    folder, manifest = exported("core/plain", dtypes=["float64", "float32", "float16", "bfloat16"])
    answer_all(folder, manifest, lambda entry, outputs: changes.get(entry.dtype, lambda given: given)(outputs))
    return folder, manifest


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        (lambda outputs: {"output": outputs["output"][:, :1]}, "fail", "output has the shape"),
        (lambda outputs: {"output": outputs["output"].astype(np.float64)}, "fail", "output is float64; expected"),
        (lambda outputs: {"output": outputs["output"] * np.nan}, "fail", "is nan"),
        (lambda outputs: {"weights": outputs["weights"]}, "malformed", "lacks 'output', which is expected"),
        (lambda outputs: {**outputs, "result": outputs["output"]}, "malformed", "holds 'result', which is no output"),
        (lambda outputs: {}, "malformed", "lacks 'output', which is expected"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(exported, grade, change, status, message):
    folder, _ = changed_answers(exported, float32=change)
    code, _, report = grade(folder)
    assert code == 1
    (wrong,) = (result for result in report["results"] if result["dtype"] == "float32")
    assert (wrong["status"], message in wrong["message"]) == (status, True), wrong["message"]
    assert {key[1] for key, status in statuses(report).items() if status == "pass"} == {
        "float64",
        "float16",
        "bfloat16",
    }


def test_a_damaged_answer_is_malformed(exported, grade):
    folder, _ = changed_answers(exported)
    (folder / "core" / "plain.float32.out.safetensors").write_bytes(b"not a header at all")
    code, _, report = grade(folder)
    assert (code, statuses(report)["core/plain", "float32"]) == (1, "malformed")


def test_two_answers_are_one_too_many(exported, grade):
    folder, manifest = changed_answers(exported)
    write_answer(folder, manifest.cases[0], {"output": np.zeros(3)}, "json")
    code, _, report = grade(folder)
    assert (code, statuses(report)["core/plain", manifest.cases[0].dtype]) == (1, "malformed")


def test_an_answer_may_be_of_another_format(exported, grade):
    folder, manifest = exported("core/plain")
    answer_all(folder, manifest, lambda entry, outputs: write_answer(folder, entry, outputs, "npz") and None)
    assert grade(folder)[0] == 0


def test_bfloat16_of_numpy_is_read_in_either_spelling(exported, grade):
    folder, manifest = exported("core/plain", dtypes=["bfloat16"], tensors="npz")

    def saved(entry, outputs):
        array = outputs["output"]
        assert array.dtype == ml_dtypes.bfloat16
        np.savez(folder / "core" / "plain.bfloat16.out.npz", output=array)

    answer_all(folder, manifest, saved)
    assert grade(folder)[0] == 0


def test_answers_may_lie_elsewhere(exported, grade, tmp_path):
    folder, manifest = exported("core/plain")
    answers = tmp_path / "answers"
    answer_all(folder, manifest, answers=answers)
    assert grade(folder)[0] == 1
    status, _, report = grade(folder, "--answers", str(answers))
    assert status == 0
    assert report["invocation"]["answers"] == str(answers)


def test_one_case_can_be_graded_alone(exported, grade):
    folder, manifest = exported("core/*")
    answer_all(folder, manifest)
    _, _, report = grade(folder, "--select", "core/plain", "--dtype", "float32")
    assert statuses(report) == {("core/plain", "float32"): "pass"}


def test_every_report_says_that_numbers_alone_were_seen(exported, grade, tmp_path):
    folder, manifest = exported("core/plain", dtypes=["float64"])
    answer_all(folder, manifest, lambda entry, outputs: {"output": outputs["output"] + 1})
    paths = [tmp_path / name for name in ("report.md", "report.html", "report.xml")]
    assert grade(folder, *(word for path in paths for word in ("--report", str(path))))[0] == 1
    markdown, page, junit = (path.read_text("utf-8") for path in paths)
    assert "Numbers alone were graded" in markdown
    assert "Numbers alone were graded" in page
    assert f"attnspec grade {folder} --select core/plain --dtype float64" in junit


def test_the_cases_of_another_suite_are_not_graded(exported, grade):
    folder, _ = exported("core/plain")
    path = folder / "export.json"
    document = json.loads(path.read_text("utf-8"))
    document["suite"]["digest"] = "0" * 64
    path.write_text(json.dumps(document), "utf-8")
    status, out, report = grade(folder)
    assert (status, report) == (2, None)
    assert "exported from another suite" in out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda path: path.unlink(), "cannot be read (No such file or directory)"),
        (lambda path: path.write_text("{", "utf-8"), "is no JSON"),
        (lambda path: path.write_text("{}", "utf-8"), "does not follow the export schema"),
        (
            lambda path: path.write_text(path.read_text("utf-8").replace('"count": 4', '"count": 5'), "utf-8"),
            "says 5 cases at /count but names 4",
        ),
    ],
)
def test_a_damaged_manifest_is_reported(exported, grade, change, sentence):
    folder, _ = exported("core/plain")
    change(folder / "export.json")
    status, out, _ = grade(folder)
    assert status == 2
    assert sentence in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--answers", "nowhere"), "--answers nowhere: there is no such folder."),
        (("--dtype", "float32"), "No case was exported in float32; there are cases in float64."),
        (("--dtype", "float8"), "There is no dtype 'float8'"),
        (("--select", "core/plan"), "No case matches 'core/plan'"),
        (("--report", "report.txt"), "the format is read from the suffix"),
    ],
)
def test_what_cannot_be_graded_ends_with_2(exported, grade, words, sentence):
    folder, _ = exported("core/plain", dtypes=["float64"])
    status, out, _ = grade(folder, *words)
    assert status == 2
    assert sentence in out


def test_conventions_are_those_of_the_export(exported, grade):
    folder, manifest = exported(
        "documents/002/attention_fully_masked_row", conventions={"fully_masked_row": "nan"}, dtypes=["float64"]
    )
    answer_all(folder, manifest)  # the reference gives zeros
    status, _, report = grade(folder)
    assert status == 1
    assert report["implementation"]["conventions"] == {"fully_masked_row": "nan"}
    assert read_manifest(folder).conventions == {"fully_masked_row": "nan"}


def in_forms(output):
    """The same numbers as each of the forms of JSON that are read."""
    numbers, row = output.astype(float).tolist(), output.astype(float).ravel().tolist()
    facts = {"dtype": output.dtype.name, "shape": list(output.shape)}
    return {"nested": {**facts, "data": numbers}, "flat": {**facts, "data": row}, "list": numbers, "row": row}


@pytest.mark.parametrize("form", ["nested", "flat", "list", "row"])
def test_json_is_read_nested_and_in_a_row(exported, grade, form):
    folder, manifest = exported("core/p*", tensors="json")
    for entry in manifest.cases:
        output = reference(entry, read_case(folder, entry)[0])["output"]
        path = folder / f"{entry.case}.{entry.dtype}.out.json"
        path.write_text(json.dumps({"output": in_forms(output)[form]}), "utf-8")
    status, out, report = grade(folder)
    assert status == 0, out
    assert {*statuses(report).values()} == {"pass"}


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("nested", "but it has "),
        ("flat", "they may stand row by row, or nested as the shape says"),
        ("list", "but it has "),
        ("row", "row by row, or nested as the shape"),
    ],
)
def test_what_is_malformed_alike_is_one_problem_and_says_what_was_wanted(exported, grade, form, wanted):
    folder, manifest = exported("core/p*", "core/s*", tensors="json")
    for entry in manifest.cases:
        output = reference(entry, read_case(folder, entry)[0])["output"]
        written = in_forms(output)[form]
        numbers = written["data"] if isinstance(written, dict) else written
        (numbers if form in ("flat", "row") else numbers[-1][-1]).pop()
        path = folder / f"{entry.case}.{entry.dtype}.out.json"
        path.write_text(json.dumps({"output": written}), "utf-8")
    status, out, report = grade(folder)
    assert status == 1
    assert {*statuses(report).values()} == {"malformed"}
    wrong = len(report["results"])
    assert wrong > 20
    assert f" {wrong}  " in out
    assert " ".join(out.split()).count(wanted) == 1, out
