"""What is built in: names, what is said where a library is missing, and devices."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from attnspec.base.errors import MissingDependencyError, TargetError
from attnspec.base.extensions import BUILT_IN, THIRD_PARTY
from attnspec.targets import load
from attnspec.tensors.libraries import OWN_EXTRAS, SHARED_EXTRA, extra_of

ROOT = Path(__file__).parents[3]
LIBRARIES = {name: name.partition("-")[0] for name in THIRD_PARTY}


@pytest.fixture
def without(monkeypatch):
    """Make a library impossible to import, and forget the adapters that hold it."""

    def hide(library):
        # What has been imported of it would be found without it.
        for module in {library, *(name for name in sys.modules if name.startswith(f"{library}."))}:
            monkeypatch.setitem(sys.modules, module, None)
        for module in [name for name in sys.modules if name.startswith("attnspec_adapters.")]:
            if not module.endswith((".libraries", ".reference")):
                monkeypatch.delitem(sys.modules, module)

    return hide


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_without_its_library_the_message_says_what_to_install(name, without):
    without(LIBRARIES[name])
    with pytest.raises(MissingDependencyError, match=rf'pip install "attnspec\[{extra_of(name)}\]"') as caught:
        load(name)
    assert f"needs {LIBRARIES[name]}" in str(caught.value)


def test_every_extra_is_in_pyproject_and_is_run_by_make():
    assert set(OWN_EXTRAS) <= set(THIRD_PARTY)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {SHARED_EXTRA, *OWN_EXTRAS.values()} <= set(extras)
    run = re.search(r"^LIBRARIES :=(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert sorted(run[1].split()) == sorted(set(OWN_EXTRAS.values()))


def test_every_name_is_in_the_guide():
    guide = (ROOT / "spec" / "guides" / "libraries.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|[^|]+\|[^|]+\|[^|]+\|$", guide, re.MULTILINE)
    named = {name for row in rows for name in re.findall("`(.+?)`", row)}
    assert named >= set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_name_is_an_adapter(name):
    pytest.importorskip(LIBRARIES.get(name, "numpy"))
    declaration = load(name).declaration
    assert declaration.adapter == name
    assert declaration.version
    assert declaration.operations


@pytest.mark.parametrize("name", [name for name in BUILT_IN if not name.startswith("torch")])
def test_a_device_is_refused_by_those_that_have_none(name):
    pytest.importorskip(LIBRARIES.get(name, "numpy"))
    with pytest.raises(TargetError, match=f"{name} takes no device"):
        load(name, device="cuda")


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name.startswith("torch")])
@pytest.mark.parametrize("device", ["meta", "nowhere"])
def test_a_device_that_cannot_be_used_is_named(name, device):
    pytest.importorskip("torch")
    with pytest.raises(TargetError, match=f'device="{device}": PyTorch .* cannot use it here: '):
        load(name, device=device)
    assert load(name, device="cpu").declaration == load(name).declaration
