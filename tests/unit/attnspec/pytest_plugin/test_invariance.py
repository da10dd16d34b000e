"""Batch invariance in runs of pytest: a broken declaration fails the session as a whole, in one process or in many."""

from pathlib import Path

import ml_dtypes  # noqa: F401 - it cannot be loaded again by a run of pytest in this process
import pytest

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[3] / "examples"
BATCHED = """
import sys
sys.path.insert(0, {examples!r})
from kernels.batched import adapter
batched = adapter({size!r})
"""
ID = "invariance/scaled_dot_product_attention/entries (float64)"


@pytest.fixture
def run_of(run, pytester):
    """Run a kernel whose blocks have some sizes, with a declaration on the command line."""

    def run_size(size, *options, declared="entries"):
        pytester.makepyfile(mine=BATCHED.format(examples=str(EXAMPLES), size=size))
        declared = f"--attnspec-convention=batch_invariance={declared}"
        return run("--attnspec=mine.py:batched", "--attnspec-select=tails/key_lengths", declared, *options, apart=True)

    return run_size


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n1")])
def test_a_broken_declaration_fails_a_session(run_of, options):
    result = run_of("by_batch_size", *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "failed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines([f"attnspec: {ID}: 1 of 2 calls of a part * apart"])


@pytest.mark.parametrize(("size", "declared"), [("fixed", "entries"), ("by_batch_size", "open")])
def test_a_kept_declaration_and_none_pass_without_a_word(run_of, size, declared):
    result = run_of(size, declared=declared)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*invarian*")
