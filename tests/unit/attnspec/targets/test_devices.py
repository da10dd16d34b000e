"""`--device`: passed to what makes an adapter, and refused with a sentence by what does not take it."""

import contextlib
import sys

import numpy as np
import pytest

from attnspec.base.errors import TargetError
from attnspec.command_line import main
from attnspec.contract.implementation import Request
from attnspec.process.process import isolated
from attnspec.targets import load
from attnspec.targets.target import Target

ADAPTERS = """
import numpy as np


class Made:
    dtypes = ("float64",)

    def __init__(self, device="cpu"):
        self.name = f"on {device}"

    def softmax(self, x, axis=-1):
        return np.ones_like(x)


def factory(device):
    return Made(device)


def without():
    return Made()


made = Made()


def softmax(x, axis=-1):
    return x
"""


@pytest.fixture
def adapters(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "some_adapters.py"
    path.write_text(ADAPTERS, "utf-8")
    yield path
    sys.modules.pop("some_adapters", None)


@pytest.mark.parametrize("attribute", ["Made", "factory"])
def test_a_class_and_a_factory_are_reported(adapters, attribute):
    assert load(f"{adapters}:{attribute}", device="cuda:1").declaration.name == "on cuda:1"


def test_without_it_nothing_is_said(adapters):
    assert load(f"{adapters}:Made").declaration.name == "on cpu"


@pytest.mark.parametrize("attribute", [":without", ":made", ""])
def test_what_takes_no_device_says_so(adapters, attribute):
    with pytest.raises(TargetError, match=r"device=\"cuda\": .* takes no device\. A class or a function"):
        load(f"{adapters}{attribute}", device="cuda")


def test_a_bare_function_and_a_loaded_implementation_take_none(adapters):
    with pytest.raises(TargetError, match="takes no device"):
        load(f"{adapters}:softmax", bare_operation="softmax", device="cuda")
    with pytest.raises(TargetError, match="takes no device"):
        load(load(f"{adapters}:Made"), device="cuda")


def test_a_process_of_its_own_is_reported(adapters):
    with contextlib.closing(isolated(Target(f"{adapters}:Made", device="cuda"))) as implementation:
        assert implementation.declaration.name == "on cuda"
        answer = implementation.run(Request("softmax", "float64", {"x": np.zeros(2)}, {}))
        assert answer.values["output"].tolist() == [1.0, 1.0]


def test_the_command_line_passes_it_on(adapters, capsys):
    main(["validate", f"{adapters}:Made", "--device", "cuda", "--select", "documents/001/softmax_of_rows"])
    assert "on cuda" in capsys.readouterr().out
    assert main(["validate", "reference", "--device", "cuda"]) == 2
    assert "reference takes no device" in capsys.readouterr().err
    assert main(["validate", "--command", "node x.mjs", "--device", "cuda"]) == 2
    assert "--device is for Python targets" in capsys.readouterr().err
