"""`make bench`: an injected slowdown is red, an unchanged run is green, and the yardstick is a bare loop."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "tools" / "benchmarks"
BURN = "import time\nwhile time.process_time() < {}: pass"
NAMES = ("validating", "judging")


def table(measured: str = BURN.format(0.4)) -> str:
    entries = [
        f"""
[[ratio]]
name = "{name}"
measured = {json.dumps(f"python -c '{measured}'")}
yardstick = {json.dumps(f"python -c '{BURN.format(0.2)}'")}
goal = 1.5
goal_seconds = 9
runs = 1
"""
        for name in NAMES
    ]
    return "".join(entries)


class Bench:
    def __init__(self, folder: Path, main, capsys) -> None:
        self.table = folder / "bench.toml"
        self.table.write_text(table())
        self.history = folder / "bench.json"
        self.main = main
        self.capsys = capsys

    def __call__(self, *options: str) -> tuple[int, str, str]:
        status = self.main(["--table", str(self.table), "--history", str(self.history), *options])
        return status, *self.capsys.readouterr()

    def lines(self) -> list[dict]:
        return json.loads(self.history.read_text())


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys) -> Bench:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return Bench(tmp_path, importlib.import_module("bench").main, capsys)


def test_a_slowdown_is_red_and_an_unchanged_run_is_not(bench) -> None:
    status, out, err = bench("--write")
    assert status == 0, err
    assert re.search(r"\| validating \| [12]\.\d\d \|.*\| 1.5, 9 s \| missed \|", out)
    for _ in range(3):
        assert bench()[0] == 0
    assert bench("--write", "--only", "validating")[0] == 0
    assert [sorted(line["ratios"]) for line in bench.lines()] == [sorted(NAMES), ["validating"]]
    status, out, err = bench("--write", "--slowdown", "20")
    assert status == 1
    for name in NAMES:
        assert re.search(rf"bench: {name}: \d\.\d\d times its yardstick, \d\d% more than the", err)
    assert len(bench.lines()) == 2


def test_what_is_accepted_is_what_the_next_run_is_compared_with(bench) -> None:
    bench("--write")
    bench.table.write_text(table(BURN.format(0.6)))
    status, _, err = bench("--write", "--accept", "judging")
    assert status == 1
    assert "bench: validating: " in err
    assert "bench: judging: " not in err
    assert bench("--write", "--accept", "judging", "--accept", "validating")[0] == 0
    assert bench("--only", "judging")[0] == 0
    assert len(bench.lines()) == 2


def test_figures_of_another_environment_are_not_compared(bench) -> None:
    bench("--write", "--only", "judging")
    (line,) = bench.lines()
    line["environment"] = "Python 3.99"
    bench.history.write_text(json.dumps([line]))
    assert bench("--only", "judging", "--slowdown", "20")[0] == 0


def test_a_command_that_fails_is_no_figure(bench) -> None:
    bench.table.write_text(table("import sys; sys.exit(3)"))
    status, _, err = bench("--write")
    assert status == 2
    assert "ended with 3" in err
    assert not bench.history.exists()


def test_every_ratio_has_a_goal_and_a_name_of_its_own() -> None:
    ratios = tomllib.loads((BENCHMARKS / "bench.toml").read_text())["ratio"]
    names = [ratio["name"] for ratio in ratios]
    assert len(set(names)) == len(names)
    assert all({"goal", "goal_seconds"} & ratio.keys() for ratio in ratios)


IMPLEMENTATION = """
import sys
calls = []
def softmax(x, axis=-1):
    calls.append(x.dtype.name)
    x[...] = 0
def __getattr__(name):
    raise AttributeError(name)
import atexit
atexit.register(lambda: print(sorted(set(calls)), len(calls), sorted(m for m in sys.modules if "attnspec" in m)))
"""


def test_the_yardstick_calls_twice_in_the_dtypes_of_the_run_and_imports_no_attnspec(tmp_path) -> None:
    (tmp_path / "bare.py").write_text(IMPLEMENTATION)
    command = [sys.executable, str(BENCHMARKS / "ratios" / "yardstick.py"), "bare", "float32,bfloat16", "documents"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(tmp_path)}
    )
    golden = Path(__file__).parents[3] / "golden" / "documents"
    cases = [json.loads(path.read_text()) for path in golden.rglob("*.json")]
    softmax = [case for case in cases if case["operation"] == "softmax"]
    calls = 2 * sum(len({"float32", "bfloat16"}.intersection(case["dtypes"])) for case in softmax)
    assert calls > 0
    assert done.stdout == f"{calls}\n['bfloat16', 'float32'] {calls} []\n"
