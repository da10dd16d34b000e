"""Inputs that benchmarks draw evenly from 0 to 1, at 512 keys of 1,024 features: too weak, and draws are not."""

from pathlib import Path

import pytest

import attnspec

EXPLOITS = Path(__file__).parent / "exploits"
ENTRY = {name: [1, 1, 512, 1024] for name in ("query", "key", "value")}
SHAPES = {
    "operation": "scaled_dot_product_attention",
    "dtypes": ["float32"],
    "shapes": [ENTRY],
    "own_check": {"numbers": "uniform", "atol": 0.01, "rtol": 0.01},
}
CHEATS = {
    "mean_of_the_values": "It returned the mean of all values.",
    "uniform_weights": "It returned the mean of",
    "zeros": "It returned zeros.",
}


@pytest.mark.proof
@pytest.mark.parametrize("cheat", CHEATS)
def test_such_inputs_miss_it_and_draws_find_it(cheat):
    found = attnspec.judge(str(EXPLOITS / f"{cheat}.py"), SHAPES, draws=1)
    assert found.verdict == "wrong"
    assert CHEATS[cheat] in found.reason
    (own,) = found.own_checks
    assert {"mean_of_values", "uniform_weights"} <= {passing.name for passing in own.passing}
    assert "is too weak" in own.sentence()
