"""ONNX backend test directories: onnx's own runner passes them on its reference evaluator, but for known defects."""

import json
import unittest

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec_authoring.results.defects import read_defects

PROFILES = ("core", "causal", "softcap", "rotary")


def test_without_onnx_a_sentence_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    for name in ("attnspec_adapters.onnx", "attnspec_adapters.onnx_models"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    assert main(["vectors", str(tmp_path / "tests"), "--form", "onnx", "--profile", "core"]) == 2
    assert "onnx" in capsys.readouterr().err


@pytest.fixture(params=[PROFILES, pytest.param((), marks=pytest.mark.proof)], ids=["some", "all"])
def profiles(request):
    return request.param


@pytest.fixture
def written(tmp_path, profiles):
    pytest.importorskip("onnx")
    assert (
        main(["vectors", str(tmp_path / "attnspec"), "--form", "onnx", *(f"--profile={name}" for name in profiles)])
        == 0
    )
    return tmp_path


def run_by_onnx(folder, monkeypatch):
    """Run the tests below a folder by onnx's own runner, and return the names of those that ran and that failed."""
    from onnx.backend.base import Backend, BackendRep
    from onnx.backend.test import loader, runner
    from onnx.reference import ReferenceEvaluator

    class Evaluated(BackendRep):
        def __init__(self, model):
            self.evaluator = ReferenceEvaluator(model)

        def run(self, inputs, **options):
            return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))

    class ReferenceBackend(Backend):
        @classmethod
        def prepare(cls, model, device="CPU", **options):
            return Evaluated(model)

        @classmethod
        def supports_device(cls, device):
            return device == "CPU"

    # The runner loads what onnx has; here it has our folder alone.
    load = loader.load_model_tests
    monkeypatch.setattr(
        runner, "load_model_tests", lambda kind: load(str(folder), "attnspec") if kind == "simple" else []
    )
    result = unittest.TestResult()
    with np.errstate(all="ignore"):
        runner.Runner(ReferenceBackend, "attnspec").test_suite.run(result)
    assert not result.errors, result.errors[0][1]
    skipped = {test.id() for test, _ in result.skipped}
    return result.testsRun - len(skipped), {test.id().rpartition(".")[2] for test, _ in result.failures}


@pytest.mark.filterwarnings("ignore")
def test_onnx_passes_them_but_for_known_defects(written, profiles, monkeypatch):
    ran, failed = run_by_onnx(written, monkeypatch)
    assert ran > 1_000
    suite = load_suite(profiles=profiles)
    runs = {
        f"test_{case.id.replace('/', '_')}_{dtype}_cpu": (case, dtype)
        for case in suite.cases.values()
        for dtype in case.runs
    }
    defects = [defect for defect in read_defects() if "onnx" in defect.implementations]

    def is_known(case, dtype):
        facts = {"case": case.id, "dtype": dtype, "status": "fail"}
        return any(
            defect.excuses({**facts, "output": output}, case)
            for defect in defects
            for output in (*defect.outputs, "output")
        )

    assert [name for name in failed if not is_known(*runs[name])] == []
    assert 0 < len(failed) < ran / 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("profiles", [("core",)], ids=["core"], indirect=True)
def test_onnx_fails_where_what_is_expected_is_another(written, monkeypatch):
    from onnx import numpy_helper

    chosen = written / "attnspec" / "test_core_plain_float32"
    path = chosen / "test_data_set_0" / "output_0.pb"
    array = numpy_helper.to_array(__import__("onnx").load_tensor(path)).copy()
    facts = json.loads((chosen / "data.json").read_text("ascii"))
    assert (facts["rtol"], 0 < facts["atol"] < 1e-5) == (0, True)
    array.flat[0] += 3 * facts["atol"]
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())
    assert "test_core_plain_float32_cpu" in run_by_onnx(written, monkeypatch)[1]
