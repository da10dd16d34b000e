"""Orders of summing that software takes, by lanes and with a running maximum: what they lose is allowed for."""

import numpy as np
import pytest

from attnspec.bounds.estimates import roundings_of_merges
from attnspec.bounds.tolerance import precision_of
from attnspec.cases import load_suite, suite_of
from attnspec.families.attention.tolerance.orders_of_summing import error_of_corrections, error_of_lanes
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_authoring.proof.subjects import implementation_of
from attnspec_controls import CONTROLS
from attnspec_draws import draw, recipe_from_text

UNIT = 2.0**-24
SINGLE = precision_of("float32")
INNER = 2


def summed_in_lanes(weights, values, lanes):
    """Sum products in float32, each lane by itself, then the lanes."""
    products = (weights.astype(np.float32) * values.astype(np.float32)).reshape(-1, lanes)
    totals = np.zeros(lanes, np.float32)
    for row in products:
        totals = totals + row
    return float(totals.sum(dtype=np.float32))


@pytest.mark.parametrize(("lanes", "block"), [(2, 1), (4, 1), (4, 2), (8, 2), (16, 1)])
@pytest.mark.parametrize("off", [0.0, 1.40625])
def test_what_lanes_lose_is_allowed_for(lanes, block, off):
    keys = 2048
    weights = np.full(keys, 1 / keys)
    values = np.where(np.arange(keys) // block % 2 == 0, 64.0, -64.0) + off
    error = abs(summed_in_lanes(weights, values, lanes) - weights @ values)
    allowed = error_of_lanes(weights.reshape(1, 1, 1, -1), values.reshape(1, 1, -1, 1), keys, SINGLE)[0, 0, 0, 0]
    assert error <= INNER * allowed
    # A sum from key to key has small partial sums: what is allowed for is what the lanes add.
    assert allowed > 100 * UNIT * np.linalg.norm(weights * values)


def test_values_at_random_are_allowed_little_more():
    keys = 2048
    weights = np.full(keys, 1 / keys)
    values = np.random.default_rng(5).standard_normal(keys)
    allowed = error_of_lanes(weights.reshape(1, 1, 1, -1), values.reshape(1, 1, -1, 1), keys, SINGLE)[0, 0, 0, 0]
    assert allowed < UNIT * np.sqrt(keys) * np.linalg.norm(weights * values)


def test_few_keys_have_no_lanes():
    assert error_of_lanes(np.full((1, 1, 1, 8), 0.125), np.ones((1, 1, 8, 1)), 8, SINGLE) == 0.0


def test_what_a_running_maximum_loses_is_allowed_for():
    keys = 512
    logits = np.arange(keys) / 256
    values = np.linspace(-1.0, 1.0, keys)
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    output = weights @ values
    # Every correction has the same factor, and the same rounding of it.
    factor = np.exp(-1 / 256) * (1 + UNIT)
    off = factor ** np.arange(keys)[::-1]
    error = abs((off / off.sum()) @ values - output)
    shapes = (logits.reshape(1, 1, 1, -1), weights.reshape(1, 1, 1, -1), values.reshape(1, 1, -1, 1))
    allowed = error_of_corrections(*shapes, np.full((1, 1, 1, 1), output), keys, SINGLE)[0, 0, 0, 0]
    assert error > UNIT
    assert error <= INNER * allowed
    mirrored = tuple(array[..., ::-1] for array in shapes[:2])
    other = np.full((1, 1, 1, 1), weights[::-1] @ values)
    assert error_of_corrections(*mirrored, shapes[2], other, keys, SINGLE) == pytest.approx(allowed)


def test_where_no_maximum_rises_nothing_is_corrected():
    weights = np.full((1, 1, 1, 16), 1 / 16)
    values = np.arange(16.0).reshape(1, 1, -1, 1)
    assert not error_of_corrections(np.zeros((1, 1, 1, 16)), weights, values, weights @ values, 16, SINGLE).any()


@pytest.mark.parametrize(
    ("control", "number"),
    [("sdpa.online_softmax_tiles_of_1", 55864), ("sdpa.quantized_scales_folded_tiles_of_2", 43824)],
)
def test_draws_that_were_false_alarms_pass(control, number):
    (subject,) = (each for each in CONTROLS if each.id == control)
    case = draw(recipe_from_text(f"draw:scaled_dot_product_attention/alarms/{number}:float32"))
    (result,) = run_suite(suite_of([case]), implementation_of(subject), dtypes=("float32",), goes_on=True)
    assert result.status == "pass"


def test_a_tree_has_a_storey_for_each_doubling_of_the_keys():
    terms = np.array([0, 1, 2, 3, 8, 9, 1024])
    assert np.allclose(roundings_of_merges(terms) ** 2, [1, 1, 1, 2, 3, 4, 10])


def halved(scores, value):
    """Return mean and logsumexp of one half of the keys merged with those of the other, down to single keys."""
    keys = scores.shape[-1]
    if keys == 1:
        return np.broadcast_to(value, (*scores.shape[:-1], value.shape[-1])), scores[..., 0]
    middle = keys // 2
    one, first = halved(scores[..., :middle], value[..., :middle, :])
    other, last = halved(scores[..., middle:], value[..., middle:, :])
    both = np.logaddexp(first, last)
    return one * np.exp(first - both)[..., None] + other * np.exp(last - both)[..., None], both


class Tree:
    """Attention without options, by halves of the keys."""

    dtypes = ("float64", "float32")

    @staticmethod
    def scaled_dot_product_attention(query, key, value, scale=None):
        factor = query.dtype.type(query.shape[-1] ** -0.5 if scale is None else scale)
        output, logsumexp = halved((query * factor) @ key.swapaxes(-1, -2), value)
        return {"output": output, "logsumexp": logsumexp}


@pytest.mark.parametrize(
    "name", ["logsumexp/all_negative", "logsumexp/equal_scores", "logsumexp/large_scores", "logsumexp/plain"]
)
def test_halves_that_are_merged_by_their_logsumexps_pass_where_logarithms_are_large(name):
    results = run_suite(suite_of([load_suite().cases[name]]), load(Tree), dtypes=Tree.dtypes, goes_on=True)
    assert {result.status for result in results} == {"pass"}
