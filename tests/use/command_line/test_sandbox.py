"""The sandbox that the page on judging recommends: what ends the judge without it is judged as any other."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXPLOITS = Path(__file__).parents[2] / "unit" / "attnspec_draws" / "judge" / "exploits"
ROOT = Path(__file__).parents[3]
SHAPES = {
    "operation": "scaled_dot_product_attention",
    "dtypes": ["float32"],
    "shapes": [{name: [1, 2, 9, 4] for name in ("query", "key", "value")}],
}


def on_the_page() -> str:
    page = (ROOT / "spec/judging.md").read_text("utf-8")
    (line,) = [line for line in page.splitlines() if '--sandbox "bwrap' in line]
    return line.split('--sandbox "')[1].rstrip('"')


def sandbox() -> str:
    """Return the page's command line; what it would hide of a checkout or a Python below /tmp is bound."""
    below = {str(path) for path in map(Path, (ROOT, sys.prefix, sys.base_prefix)) if path.is_relative_to("/tmp")}
    return " ".join([on_the_page(), *(f"--ro-bind {path} {path}" for path in sorted(below))])


def works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    command = [*sandbox().replace("{files}", str(EXPLOITS)).split(), "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not works(), reason="bubblewrap is not installed, or may not make namespaces")


def judged(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "shapes.json").write_text(json.dumps(SHAPES), "utf-8")
    command = [sys.executable, "-m", "attnspec", "judge", str(EXPLOITS / "ends_its_judge.py"), "--draws", "2", "--json"]
    command += ["--shapes", str(folder / "shapes.json"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_ends_the_judge_is_judged_in_the_sandbox_of_the_page(tmp_path):
    assert judged(tmp_path).returncode < 0
    done = judged(tmp_path, "--sandbox", sandbox())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "right"
