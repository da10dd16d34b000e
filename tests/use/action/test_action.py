"""The GitHub Action, as far as it can run without GitHub: its steps, its inputs, its summary."""

import importlib.util
import json
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from .conftest import ACTION

RIGHT = """
import numpy as np

dtypes = ("float64", "float32")


def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def scaled_dot_product_attention(query, key, value, *, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.swapaxes(-1, -2) * query.dtype.type(scale)
    return softmax(scores) @ value
"""
MISTAKE = (" * query.dtype.type(scale)", "")
TORCH = """
import torch

from attnspec_adapters.torch import Torch


class Adapter(Torch):
    name = "our torch"
"""
TORCH_MISTAKE = """
    def scaled_dot_product_attention(self, query, key, value, mask=None, is_causal=False, scale=None, **others):
        scale = query.shape[-1] ** -1.0 if scale is None else scale
        return super().scaled_dot_product_attention(
            query, key, value, mask=mask, is_causal=is_causal, scale=scale, **others
        )
"""
ATTENTION = "core/width_*"


@pytest.fixture
def checkout(runner):
    (runner.checkout / "mine.py").write_text(RIGHT, "utf-8")
    return runner.checkout


def plant_mistake(checkout):
    assert MISTAKE[0] in RIGHT
    (checkout / "mine.py").write_text(RIGHT.replace(*MISTAKE), "utf-8")


@pytest.mark.proof
def test_right_is_green(runner, checkout):
    job = runner.run(target="./mine.py", profiles="core", options=f"--select={ATTENTION}")
    assert job.status == 0, job.log
    assert job.summary.startswith("### attnspec gate: open\n\nmine passes the gate: ")
    assert "`mine` conforms" in job.summary
    assert job.annotations == []
    again = runner.run(target="./mine.py", profiles="core", options=f"--select={ATTENTION}")
    assert again.uploads.keys() == {"attnspec-attention-3-2"}
    assert runner.run(target="./mine.py", options=f"--select={ATTENTION}", upload="false").uploads == {}


def test_a_planted_mistake_is_red_and_the_summary_names_it(runner, checkout):
    plant_mistake(checkout)
    job = runner.run(target="./mine.py", options=f"--select={ATTENTION}")
    assert job.status == 1, job.log
    assert job.summary.startswith("### attnspec gate: closed\n")
    assert "New failures" in job.summary
    assert r"this mistake, sdpa.scale\_missing, reproduces" in job.summary
    assert job.annotations
    assert job.annotations[0].startswith("::error title=attnspec%3A New failures::core/width_")
    assert job.uploads == {"attnspec-attention-3-1": {"report.md", "report.json", "report.html", "report.xml"}}


@pytest.mark.proof
def test_what_the_baseline_expects_is_green_and_what_it_does_not_is_red(runner, checkout):
    plant_mistake(checkout)
    written = runner.run(
        target="./mine.py", baseline="attention.json", options=f"--update-baseline\n--select={ATTENTION}\n"
    )
    assert written.status == 0, written.log
    document = json.loads((checkout / "attention.json").read_text("utf-8"))
    assert {entry["status"] for entry in document["failures"]} == {"fail"}
    options = {"target": "./mine.py", "baseline": "attention.json", "options": f"--select={ATTENTION}"}
    assert runner.run(**options).status == 0
    (checkout / "mine.py").write_text(RIGHT, "utf-8")
    assert runner.run(**options).status == 1
    assert runner.run(**options, lenient="true").status == 0


@pytest.mark.proof
def test_inputs_are_handed_to_the_gate(runner, checkout):
    required = runner.run(target="./mine.py", profiles="core softcap", dtypes="float64 float32", require="core softcap")
    assert required.status == 1, required.log
    assert "Required to conform" in required.summary
    assert "\n- softcap: " in required.summary
    accurate = runner.run(target="./mine.py", options=f"--select={ATTENTION}", minimum_accuracy="1e-9")
    assert accurate.status == 1
    assert "minimum" in accurate.summary


@pytest.mark.proof
def test_it_runs_in_its_working_directory(runner, checkout):
    (checkout / "library").mkdir()
    (checkout / "mine.py").rename(checkout / "library" / "mine.py")
    job = runner.run(target="mine", working_directory="library", options=f"--select={ATTENTION}")
    assert job.status == 0, job.log


@pytest.mark.proof
def test_a_program_is_run_instead_of_a_target(runner, checkout):
    job = runner.run(command="no_such_program --fast", profiles="core")
    assert job.status == 2
    assert "no_such_program is not installed or not on PATH" in job.log
    assert job.summary == "attnspec could not be run; the log of this step says why.\n"
    assert job.annotations == ["::error title=attnspec could not be run::The log of this step says why."]
    assert job.uploads == {"attnspec-attention-3-1": set()}


@pytest.mark.proof
@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "Say what to validate"),
        ({"target": "./mine.py", "baseline": "gone.json"}, "There is no baseline 'gone.json'"),
        ({"target": "./mine.py", "profiles": "core *"}, "There is no profile '*'"),
    ],
)
def test_what_cannot_be_run_is_red_and_said(inputs, sentence, runner, checkout):
    job = runner.run(**inputs)
    assert job.status == 2
    assert sentence in job.log
    assert "could not be run" in job.summary


@pytest.mark.proof
def test_an_input_is_never_run(runner, checkout):
    hostile = '"; touch owned; echo $(touch owned) `touch owned` #'
    inputs = (
        "target",
        "command",
        "baseline",
        "profiles",
        "dtypes",
        "require",
        "minimum_accuracy",
        "lenient",
        "options",
    )
    assert runner.run(**dict.fromkeys(inputs, hostile)).status == 2
    assert runner.run(target="./mine.py", package=hostile).status != 0
    assert not list(checkout.glob("**/owned"))


@pytest.mark.proof
def test_a_package_that_cannot_be_installed_is_red(runner, checkout):
    job = runner.run(target="./mine.py", package="attnspec>=9999")
    assert job.status == 1
    assert "No matching distribution found for attnspec>=9999" in job.log


def test_the_action_uses_nothing_but_python_and_uploads_nothing_but_reports():
    text = ACTION.read_text("utf-8")
    action = yaml.safe_load(text)
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    used = [step for step in steps if "uses" in step]
    assert [step["uses"].partition("@")[0] for step in used] == ["actions/setup-python", "actions/upload-artifact"]
    assert used[1]["with"]["path"] == "${{ steps.gate.outputs.reports }}"
    assert all("${{" not in step.get("run", "") for step in steps)
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    assert all(about["description"] and isinstance(about["default"], str) for about in action["inputs"].values())
    assert not [word for word in ("curl", "wget", "secrets", "token") if word in text]


@pytest.mark.proof
def test_it_installs_the_repository_that_it_is_a_part_of(runner, checkout, tmp_path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.check_output([python, "-c", program], text=True).strip()
    # What attnspec needs is at hand; attnspec itself is not taken from there, since its own folder comes first.
    (Path(own) / "needed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    runner.environment = {"PATH": f"{python.parent}:/usr/bin:/bin", "PYTHONPATH": "", "PIP_DRY_RUN": "0"}
    runner.package = ""
    (checkout / "where.py").write_text("import attnspec; print('FROM', attnspec.__file__)\n" + RIGHT, "utf-8")
    job = runner.run(target="./where.py", options=f"--select={ATTENTION}")
    assert job.status == 0, job.log
    assert f"FROM {own}" in job.log


@pytest.mark.proof
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_is_green_and_with_a_planted_mistake_red(runner):
    ours = runner.checkout / "ours.py"
    ours.write_text(TORCH, "utf-8")
    options = {"target": "./ours.py:Adapter", "baseline": "torch.json", "profiles": "core"}
    assert runner.run(**options, options="--update-baseline").status == 0
    green = runner.run(**options)
    assert green.status == 0, green.log
    assert green.summary.startswith("### attnspec gate: open\n\nour torch passes the gate: ")
    ours.write_text(TORCH + TORCH_MISTAKE, "utf-8")
    red = runner.run(**options)
    assert red.status == 1, red.log
    assert red.summary.startswith("### attnspec gate: closed\n")
    assert "sdpa.scale" in red.summary
