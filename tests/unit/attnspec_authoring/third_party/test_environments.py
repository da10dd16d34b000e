"""Environments of their own: the version that was requested, this checkout, and nothing left behind."""

import subprocess
import zipfile
from pathlib import Path

import pytest

import attnspec
from attnspec.base.errors import MissingDependencyError
from attnspec_authoring.third_party.environments import environment_with, pinned


@pytest.mark.parametrize(
    ("requirements", "wanted"),
    [(["onnxruntime", "onnx"], ["onnxruntime==1.28.0", "onnx"]), (["mlx[cpu]"], ["mlx[cpu]==1.28.0"])],
)
def test_the_first_requirement_is_the_library(requirements, wanted):
    assert pinned(requirements, "1.28.0") == wanted


@pytest.mark.proof
def test_what_cannot_be_installed_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with (
        pytest.raises(
            MissingDependencyError, match=r"^toylibrary==3 cannot be installed: ERROR: No matching \S+ found"
        ),
        environment_with(["toylibrary==3"]),
    ):
        pytest.fail("nothing was installed")
    assert not [*tmp_path.iterdir()]


@pytest.mark.proof
def test_a_version_is_installed_beside_this_checkout_and_removed(tmp_path, monkeypatch):
    for version in ("1.0", "2.0"):
        a_wheel(tmp_path, version)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    said = "import attnspec, toylibrary; print(toylibrary.version, attnspec.__file__)"
    with environment_with(pinned(["toylibrary"], "1.0")) as python:
        done = subprocess.run([python, "-c", said], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["1.0", attnspec.__file__]
    assert not Path(python).parents[1].exists()


def a_wheel(folder, version):
    name = f"toylibrary-{version}"
    metadata = f"Metadata-Version: 2.1\nName: toylibrary\nVersion: {version}\n"
    files = {
        "toylibrary.py": f"version = '{version}'\n",
        f"{name}.dist-info/METADATA": metadata,
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
