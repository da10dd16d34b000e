"""The files that are a target's own, with what they import from their folder."""

import pytest

from attnspec.targets.sources import digests
from attnspec.targets.target import Target


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import numpy\nfrom kernel import tile\nimport package.part\n")
    (tmp_path / "kernel.py").write_text("import mine\n")
    (tmp_path / "unused.py").write_text("")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "part.py").write_text("def late():\n    from . import other\n")
    (tmp_path / "package" / "other.py").write_text("this is no Python")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("target", ["./mine.py", "mine.py:Adapter", "mine", "mine:Adapter"])
def test_a_file_and_all_that_it_imports_from_its_folder(folder, target):
    names = ["kernel.py", "mine.py", "package/__init__.py", "package/other.py", "package/part.py"]
    before = digests(Target(target))
    assert sorted(before) == names
    (folder / "kernel.py").write_text("import mine  # changed\n")
    after = digests(Target(target))
    assert [name for name in names if before[name] != after[name]] == ["kernel.py"]


def test_a_module_of_a_package(folder):
    assert sorted(digests(Target("package.part"))) == ["package/__init__.py", "package/other.py", "package/part.py"]


def test_a_program_and_the_files_of_its_words(folder):
    (folder / "attention.mjs").write_text("")
    assert list(digests(Target(command="node attention.mjs --fast"))) == ["attention.mjs"]
    assert digests(Target(command="node 'attention.mjs")) == {}


def test_files_that_a_script_may_read(folder):
    for name in ("attention.mjs", "softmax.mjs", "report.json"):
        (folder / name).write_text("")
    assert sorted(digests(Target(command="node --stack-size=9 attention.mjs"))) == ["attention.mjs", "softmax.mjs"]
    names = ["kernel.py", "mine.py", "package/__init__.py", "package/other.py", "package/part.py"]
    assert [*digests(Target(command="python mine.py"))] == names


def test_imports_from_wherever_python_looks_but_of_no_library(folder, monkeypatch):
    (folder / "sources").mkdir()
    (folder / "sources" / "mine_too.py").write_text("import hypothesis, json\n")
    (folder / "adapters").mkdir()
    (folder / "adapters" / "adapter.py").write_text("import mine_too, kernel\n")
    monkeypatch.syspath_prepend(folder / "sources")
    names = ["adapters/adapter.py", "kernel.py", "mine.py", "package/__init__.py", "package/other.py"]
    assert [*digests(Target("adapters/adapter.py"))] == [*names, "package/part.py", "sources/mine_too.py"]


@pytest.mark.parametrize("target", ["reference", "torch", "numpy.linalg", "./nowhere.py"])
def test_what_is_not_of_the_user_has_none(folder, target):
    assert digests(Target(target)) == {}
