"""The guide of kernels' interfaces, followed literally: each adapter that `init` writes is validated as it is."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import attnspec
from attnspec.command_line import main

GUIDE = (Path(__file__).parents[3] / "spec" / "guides" / "kernel-interfaces.md").read_text("utf-8")
FILES = {
    match[1]: f"{match[0]}"
    for block in re.findall(r"^```(?:python|c|rust)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for match in [re.search(r"\A(?:#|//) (\S+)\n", block)]
    if match is not None
}
CONTENT = {
    name: block
    for block in re.findall(r"^```(?:python|c|rust)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for name in FILES
    if block.startswith((f"# {name}\n", f"// {name}\n"))
}
COMMANDS = re.findall(r"^\$ (.*)$", GUIDE, re.MULTILINE)
EXPECTED = {
    "flash": ('layout = "bshe"', '"causal_alignment": "bottom_right"', 'dtypes = ("float32", "float16", "bfloat16")'),
    "varlen": ('layout = "packed:int32"', "max((int(end) - int(start)"),
    "launcher": ("strided_inputs", "query.strides[1] // query.itemsize"),
    "pages": ('layout = "paged', "query = query[:, :, 0]"),
    "compiled": ("output = np.full(", 'dtypes = ("float32",)'),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("interfaces")
    for name, block in CONTENT.items():
        (path / name).write_text(block, "utf-8")
    return path


def followed(kind, folder, monkeypatch):
    """Run the commands of a section up to its adapter, and return its text."""
    monkeypatch.chdir(folder)
    for command in COMMANDS:
        program, *words = shlex.split(command)
        if program == "cc" and kind == "compiled":
            assert shutil.which(program), "this test needs a compiler of C"
            subprocess.run([program, *words], check=True)
        elif words[0] == "init" and words[1].startswith(f"./{kind}.py"):
            assert main([*words, "--force"]) == 0
    return (folder / f"{kind}_adapter.py").read_text("utf-8")


@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.proof
def test_the_adapter_of_each_section_passes_as_it_is_written(kind, folder, monkeypatch):
    text = followed(kind, folder, monkeypatch)
    for words in EXPECTED[kind]:
        assert words in text
    assert f"attnspec validate ./{kind}_adapter.py" in COMMANDS
    report = attnspec.validate(f"./{kind}_adapter.py", probes=False)
    assert report.conforms, [result.case.id for result in report.wrong][:5]


def test_the_first_section_is_followed(folder, monkeypatch):
    text = followed("flash", folder, monkeypatch)
    assert all(words in text for words in EXPECTED["flash"])
    assert attnspec.validate("./flash_adapter.py", profile=("core", "causal"), probes=False).conforms


def test_the_function_in_rust_is_called_by_the_file_of_that_in_c(folder, monkeypatch, tmp_path):
    if shutil.which("rustc") is None:
        if "ATTNSPEC_COMPILERS" in os.environ:
            pytest.fail("rustc is not installed, and ATTNSPEC_COMPILERS wants it: `.ci/run` says how it is")
        pytest.skip("rustc is not installed")
    for name in ("attention.rs", "compiled.py"):
        shutil.copy(folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    (command,) = (command for command in COMMANDS if command.startswith("rustc "))
    subprocess.run(shlex.split(command), check=True)
    (begun,) = (command for command in COMMANDS if command.startswith("attnspec init ./compiled.py"))
    assert main(shlex.split(begun)[1:]) == 0
    report = attnspec.validate("./compiled_adapter.py", profile=("core", "grouped_query"), probes=False)
    assert report.conforms, [result.case.id for result in report.wrong][:5]
    assert report.summary.counts["pass"] >= 20
