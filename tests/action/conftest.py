"""A simulated runner: the steps of action.yml, run one after another as GitHub's runner runs them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ACTION = Path(__file__).parents[2] / "tools" / "action" / "action.yml"


@dataclass(frozen=True)
class Job:
    """What came of a job: the exit status of the step that ended it, the log, the summary."""

    status: int
    log: str
    summary: str


class Runner:
    """A checkout, and what a runner puts around it."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        self._temporary = folder / "temporary"
        self._temporary.mkdir()

    def run(self, **inputs: str) -> Job:
        """Run the action with these inputs; in their names, underscores stand for hyphens."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        action = yaml.safe_load(ACTION.read_text("utf-8"))
        assert given.keys() <= action["inputs"].keys()
        values = {name: given.get(name, about["default"]) for name, about in action["inputs"].items()}
        summary = self._temporary / "summary.md"
        summary.write_text("", "utf-8")
        log, status = "", 0
        for step in action["runs"]["steps"]:
            if "run" not in step:
                # A step that uses another action: only that of Python, which is here already.
                assert step["if"] == "inputs.python-version != ''"
                assert values["python-version"] == ""
                continue
            done = self._step(step, values, summary)
            log, status = log + done.stdout, done.returncode
            if status:
                break
        return Job(status, log, summary.read_text("utf-8"))

    def _step(self, step: dict, values: dict[str, str], summary: Path) -> subprocess.CompletedProcess[str]:
        assert step["shell"] == "bash"
        script = self._temporary / "step.sh"
        script.write_text(step["run"], "utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment |= {name: filled(text, values) for name, text in step.get("env", {}).items()}
        environment |= {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]]),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(self._temporary),
            # The package that is installed here satisfies the step; it must not download another one.
            "PIP_NO_INDEX": "1",
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.checkout / filled(step.get("working-directory", "."), values),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )


def filled(text: str, values: dict[str, str]) -> str:
    """Return text with ``${{ inputs.name }}`` replaced; any other expression is not known here."""
    done = re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: values[match[1]], text)
    assert "${{" not in done
    return done


@pytest.fixture
def runner(tmp_path) -> Runner:
    return Runner(tmp_path)
