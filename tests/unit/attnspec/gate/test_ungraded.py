"""What a gate makes of results in which nothing was wrong and nothing was graded."""

import json

import pytest

from attnspec.command_line import main

LOST = "stress/raw_products_beyond_float16"

AVERAGE = """
import numpy as np

name = "average"
dtypes = ("float64", "bfloat16")

def scaled_dot_product_attention(query, key, value, scale=None):
    mean = value.astype(np.float64).mean(axis=-2, keepdims=True)
    return np.broadcast_to(mean, (*query.shape[:-1], value.shape[-1])).astype(query.dtype) * {factor}
"""


@pytest.fixture
def gate(tmp_path, capsys):
    """Run the gate over one case, of which bfloat16 grades nothing; give its status and what it says, on one line."""

    def run(*options, factor="query.dtype.type(1)"):
        file = tmp_path / "average.py"
        file.write_text(AVERAGE.format(factor=factor), "utf-8")
        baseline = tmp_path / "baseline.json"
        status = main(["gate", str(file), "--select", LOST, "--baseline", str(baseline), *options])
        return status, " ".join(capsys.readouterr().out.split()), json.loads(baseline.read_text("utf-8"))

    return run


def test_it_needs_no_entry_and_is_not_counted(gate):
    _, _, baseline = gate("--update-baseline")
    assert (baseline["failures"], baseline["graded"]) == ([], 1)
    status, said, _ = gate()
    assert (status, said) == (0, "average passes the gate: 1 of 1 passed.")


def test_an_entry_that_is_ungraded_now_is_to_be_removed(gate):
    too_large = "np.where(query.dtype == np.float64, 1, 99).astype(query.dtype)"
    _, _, baseline = gate("--update-baseline", factor=too_large)
    assert [(entry["dtype"], entry["status"]) for entry in baseline["failures"]] == [("bfloat16", "fail")]
    status, said, _ = gate()
    assert status == 1
    assert said.endswith("does not pass the gate (passes now: 1).")
    assert f"{LOST} (bfloat16): is listed as fail and is ungraded now" in said
    status, _, _ = gate("--lenient")
    assert status == 0
