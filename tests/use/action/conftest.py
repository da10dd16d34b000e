"""A simulated runner: the steps of action.yml, run one after another as GitHub's runner runs them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ACTION = Path(__file__).parents[3] / "tools" / "action" / "action.yml"


@dataclass(frozen=True)
class Job:
    """What came of a job: the exit status of the step that ended it, the log, the summary, what was uploaded."""

    status: int
    log: str
    summary: str
    uploads: dict[str, set[str]]

    @property
    def annotations(self) -> list[str]:
        """The commands to the runner that show an error."""
        return [line for line in self.log.splitlines() if line.startswith("::error ")]


class Runner:
    """A checkout, and what a runner puts around it."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        # It is installed here already, so that pip builds nothing; of the repository that takes a quarter of a minute.
        self.package = "attnspec"
        # Installing must leave the environment of these tests as it is.
        self.environment = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PIP_DRY_RUN": "1",
        }

    def run(self, **inputs: str) -> Job:
        """Run the action with these inputs; in their names, underscores stand for hyphens."""
        given = {"package": self.package, **{name.replace("_", "-"): value for name, value in inputs.items()}}
        action = yaml.safe_load(ACTION.read_text("utf-8"))
        assert given.keys() <= action["inputs"].keys()
        values = {f"inputs.{name}": given.get(name, about["default"]) for name, about in action["inputs"].items()}
        values["strategy.job-index"] = "3"
        summary = self._temporary / "summary.md"
        summary.write_text("", "utf-8")
        log, status, uploads = "", 0, {}
        for step in action["runs"]["steps"]:
            if not holds(step.get("if"), values, failed=status != 0):
                continue
            if "uses" in step:
                assert step["uses"].startswith("actions/upload-artifact@"), "Python is here already"
                with_ = {name: filled(text, values) for name, text in step["with"].items()}
                uploads[with_["name"]] = {path.name for path in Path(with_["path"]).iterdir()}
                continue
            done, outputs = self._step(step, values, summary)
            values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            log, status = log + done.stdout, status or done.returncode
        return Job(status, log, summary.read_text("utf-8"), uploads)

    def _step(
        self, step: dict, values: dict[str, str], summary: Path
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        assert step["shell"] == "bash"
        script = self._temporary / "step.sh"
        script.write_text(step["run"], "utf-8")
        output = self._temporary / "output"
        output.write_text("", "utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment |= {name: filled(text, values) for name, text in step.get("env", {}).items()}
        environment |= {
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_ACTIONS": "true",
            "GITHUB_JOB": "attention",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(self._temporary),
            # What it needs is installed; it must not download it once more.
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            **self.environment,
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.checkout / filled(step.get("working-directory", "."), values),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done, dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())


def filled(text: str, values: dict[str, str]) -> str:
    """Return text with ``${{ inputs.name }}`` and its like replaced; any other expression is not known here."""
    done = re.sub(r"\$\{\{ ([a-z.-]+) \}\}", lambda match: values[match[1]], text)
    assert "${{" not in done
    return done


def holds(condition: str | None, values: dict[str, str], *, failed: bool) -> bool:
    """Return whether a step runs: comparisons that are joined by ``&&``; after a failure, only with ``always()``."""
    terms = [] if condition is None else condition.split(" && ")
    if "always()" not in terms and failed:
        return False
    for term in terms:
        if term != "always()":
            name, operator, value = term.split(" ")
            assert operator in ("==", "!=")
            if (values.get(name, "") == value.strip("'")) != (operator == "=="):
                return False
    return True


@pytest.fixture
def runner(tmp_path) -> Runner:
    return Runner(tmp_path)
