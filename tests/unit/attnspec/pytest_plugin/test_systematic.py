"""Systematic errors in runs of pytest: of the session as a whole, in one process or in many, beside a baseline."""

from pathlib import Path

import ml_dtypes  # noqa: F401 - it cannot be loaded again by a run of pytest in this process
import pytest

from attnspec.command_line import main

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[3] / "examples"
PULLING = """
import sys
sys.path.insert(0, {examples!r})
from kernels.pulling import adapter
pulling = adapter(chained=False, scale={scale})
"""
PROFILE = "masking"
ID = "systematic/scaled_dot_product_attention/scale (bfloat16)"


@pytest.fixture
def run_of(run, pytester):
    """Run a scale that is so many times what it must be."""

    def run_scale(scale, *options):
        pytester.makepyfile(mine=PULLING.format(examples=str(EXAMPLES), scale=scale))
        return run("--attnspec=mine.py:pulling", f"--attnspec-profile={PROFILE}", *options, apart=True)

    return run_scale


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n2")])
def test_a_session_fails_by_what_its_results_have_in_common(run_of, options):
    result = run_of(1.003, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "failed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines([f"attnspec: {ID}: the scale is 1.00* of what is expected (bfloat16, * cases)"])


def test_a_right_one_passes_without_a_word(run_of):
    result = run_of(1.0)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*systematic*")


def test_a_baseline_expects_it_until_it_is_gone(run_of, pytester):
    pytester.makepyfile(mine=PULLING.format(examples=str(EXAMPLES), scale=1.003))
    assert main(["gate", "mine.py:pulling", f"--profile={PROFILE}", "--baseline=b.json", "--update-baseline"]) == 0
    assert run_of(1.003, "--attnspec-baseline=b.json").ret == pytest.ExitCode.OK
    result = run_of(1.0, "--attnspec-baseline=b.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"attnspec: {ID}: is listed as fail and is right now*"])
