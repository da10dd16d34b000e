"""The workflows, as far as they can run without GitHub: their commands are targets of make, or are run here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from attnspec.base import __version__

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
CI = ROOT / ".ci" / "run"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in ROOT.glob(".github/workflows/*.yml")}
ACTION = yaml.safe_load((ROOT / "tools" / "action" / "action.yml").read_text("utf-8"))
PACKAGE = {f"attnspec-{__version__}-py3-none-any.whl", f"attnspec-{__version__}.tar.gz"}
FURTHER = {f"attnspec-site-{__version__}.tar.gz", f"attnspec-vectors-{__version__}.tar.gz"}

STEPS = [step for workflow in WORKFLOWS.values() for job in workflow["jobs"].values() for step in job.get("steps", ())]
SCRIPTS = {step["name"]: step["run"] for step in STEPS if "run" in step and "name" in step}
COMMANDS = [step["run"] for step in STEPS if "run" in step and "name" not in step]


def executable(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


@pytest.fixture
def shell(tmp_path):
    """Run a script as a runner's bash, where make, gh and apt-get only note how they are called."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "gh", "apt-get", "sudo"):
        executable(programs / name, f'echo "{name} $@" >> "{tmp_path}/calls"')
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "GITHUB_SHA": "abc123"}

    def run(script, folder=tmp_path, **variables):
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        subprocess.run(command, cwd=folder, env={**environment, **variables}, check=True, capture_output=True)
        calls = tmp_path / "calls"
        return calls.read_text("utf-8").splitlines() if calls.exists() else []

    return run


def made(calls):
    return [call.removeprefix("make ") for call in calls if call.startswith("make ")]


def test_every_command_without_a_name_is_a_target(shell):
    targets = {*WORKFLOWS["ci"]["jobs"]["target"]["strategy"]["matrix"]["target"]}
    for command in COMMANDS:
        words = command.replace("${{ matrix.target }}", "*").split()
        assert words[0] in ("make", ".ci/run"), command
        targets |= {*words[1:]} - {"*"}
    assert "release" in targets
    for target in sorted(targets):
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_ci_runs_all_targets_or_those_that_are_named(shell):
    everything = made(shell(str(CI), folder=ROOT))
    assert [*everything, "dry-run"] == WORKFLOWS["ci"]["jobs"]["target"]["strategy"]["matrix"]["target"]
    assert made(shell(f"{CI} lint validate", folder=ROOT)) == [*everything, "lint", "validate"]


def test_every_command_with_a_name_is_run_here():
    assert SCRIPTS.keys() == {
        "Install the project",
        "Unpack the site, and compare the checksums",
        "Publish the files, under a tag that is made here unless it was pushed",
        "Take the package apart from the other files",
    }


@pytest.fixture
def released(tmp_path, shell):
    """A folder with the files of a release, as small as can be, and their checksums."""
    for folder in ("dist", "inside/attnspec-site/cases"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "inside/attnspec-site/cases/one.html").write_text("<!doctype html>")
    for name in sorted(PACKAGE | FURTHER):
        shell(f"tar -czf dist/{name} -C inside attnspec-site")
    (tmp_path / "dist" / "NOTES.md").write_text("All of it.")
    shell("cd dist && sha256sum * > SHA256SUMS")
    return tmp_path


def test_the_site_is_unpacked_where_all_files_are_whole(released, shell):
    script = SCRIPTS["Unpack the site, and compare the checksums"]
    shell(script)
    assert (released / "site" / "cases" / "one.html").is_file()
    (released / "dist" / "NOTES.md").write_text("Something else.")
    with pytest.raises(subprocess.CalledProcessError):
        shell(f"rm -r site\n{script}")


def test_the_release_has_a_tag_notes_and_all_files(released, shell):
    (call,) = shell(SCRIPTS["Publish the files, under a tag that is made here unless it was pushed"])
    assert call.startswith(
        f"gh release create v{__version__} --target abc123 --title attnspec {__version__} --notes-file"
    )
    files = call.partition("--notes-file dist/NOTES.md ")[2].split()
    assert {*files} == {f"dist/{name}" for name in (*PACKAGE, *FURTHER, "SHA256SUMS")}


def test_the_package_index_is_given_the_package_alone(released, shell):
    shell(SCRIPTS["Take the package apart from the other files"])
    assert {path.name for path in (released / "package").iterdir()} == PACKAGE
    publish = WORKFLOWS["release"]["jobs"]["package"]["steps"][-1]
    assert publish["with"] == {"packages-dir": "package"}


def test_the_project_of_a_caller_is_installed_by_its_own_command(shell, tmp_path):
    shell(SCRIPTS["Install the project"], INSTALL='echo "as I like it" > installed')
    assert (tmp_path / "installed").read_text() == "as I like it\n"
    shell(SCRIPTS["Install the project"], INSTALL="")


def test_a_workflow_that_is_called_gives_the_action_what_it_knows():
    called = WORKFLOWS["conformance"]
    (trigger,) = called[True].values()  # `on` is true in YAML
    steps = called["jobs"]["attnspec"]["steps"]
    assert steps[-1]["with"].keys() <= ACTION["inputs"].keys()
    used = {*re.findall(r"inputs\.([\w-]+)", str(steps))}
    assert used == trigger["inputs"].keys()
    assert trigger["inputs"]["ref"]["default"] == f"v{__version__}"
    caller = WORKFLOWS["ci"]["jobs"]["conformance"]
    assert caller["with"].keys() <= trigger["inputs"].keys()
    assert {name for name, about in trigger["inputs"].items() if about.get("required")} <= caller["with"].keys()


def test_what_is_published_was_tested_and_nobody_has_more_rights_than_needed():
    jobs = WORKFLOWS["release"]["jobs"]
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {"build": None, "release": "build", "site": "release", "package": "release"}
    order = [step.get("run", step.get("uses", "")).split("@")[0] for step in jobs["build"]["steps"]]
    assert order.index(".ci/run") < order.index("make release") < order.index("actions/attest-build-provenance")
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in WORKFLOWS.values())
    writing = {name for name, job in jobs.items() if (job.get("permissions") or {}).get("contents") == "write"}
    assert writing == {"release"}


@pytest.mark.parametrize("page", ["README.md", "spec/guides/ci.md"])
def test_pages_name_the_action_at_this_version(page):
    tags = re.findall(r"OWNER/attnspec/\S+@(\S+)", (ROOT / page).read_text("utf-8"))
    assert {*tags} == {f"v{__version__}"}
