"""Merged parts keep their laws: in golden values against each other, in attention by parts, under every convention."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec_reference
from attnspec.bounds.tolerance import precision_of
from attnspec.cases import load_suite
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.families.attention.tolerance.tolerances import tolerance
from attnspec.families.lookup import family_called
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_authoring.recipes.attention.merge.laws import merged, of, parts
from attnspec_authoring.recipes.attention.merge.splits import ATTENTION, SPLITS
from attnspec_oracle import evaluate

OPERATION = "merge_states"
SUITE = load_suite()
CASES = {case.id: case for case in SUITE.cases.values() if case.operation == OPERATION}
VALID = [case for case in CASES.values() if case.rejects is None]
DTYPES = ("float64", "float32", "float16", "bfloat16")
LOG2_E = math.log2(math.e)


def golden(name):
    return CASES[f"merge/{name}"].golden("float64")


def assert_nearly_equal(one, other, units=4):
    """Equal but for some units of the last bit of the largest number of the row."""
    for name in ("output", "logsumexp"):
        left, right = one[name], other[name]
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        size = np.maximum(1.0, np.abs(np.where(np.isfinite(left), left, 0)))
        with np.errstate(invalid="ignore"):
            assert (same | (np.abs(left - right) <= units * np.finfo(np.float64).eps * size)).all(), name


def validated(function, cases=CASES, **declared):
    holder = SimpleNamespace(merge_states=function, **{"dtypes": FLOAT_DTYPES, **declared})
    return run_suite(replace(SUITE, cases={name: CASES[name] for name in cases}), load(holder))


# Laws of golden values


def test_exchanged_parts_have_the_same_golden_values():
    there, back = golden("commutative_there"), golden("commutative_back")
    assert all(np.array_equal(there[name], back[name]) for name in ("output", "logsumexp"))
    inputs = CASES["merge/commutative_there"].inputs, CASES["merge/commutative_back"].inputs
    assert np.array_equal(inputs[0]["output_a"], inputs[1]["output_b"])


@pytest.mark.parametrize("name", ["associative_last_two", "associative_outer_two"])
def test_three_parts_come_to_the_same_whichever_two_are_merged_first(name):
    assert_nearly_equal(golden("associative_first_two"), golden(name))


def test_three_parts_were_merged_from_what_the_cases_say():
    first, second, _ = parts()
    given = CASES["merge/associative_first_two"].inputs
    output, logsumexp = merged(first, second)
    assert np.array_equal(given["output_a"], output)
    assert np.array_equal(given["logsumexp_a"], logsumexp)
    assert np.array_equal(of(first, second)["output_b"], second[0])


@pytest.mark.parametrize("name", SPLITS)
def test_attention_in_two_parts_comes_to_attention_over_all_keys(name):
    whole = evaluate(ATTENTION, SPLITS[name].whole(name), {}, outputs=("output", "logsumexp"))
    assert_nearly_equal(golden(name), whole)


def test_a_part_without_keys_leaves_the_other_as_it_is():
    seen = 0
    for case in VALID:
        inputs, outputs = case.inputs, case.golden("float64")
        for side, other in (("a", "b"), ("b", "a")):
            alone = (inputs[f"logsumexp_{side}"] == -np.inf) & (inputs[f"logsumexp_{other}"] > -np.inf)
            seen += int(alone.sum())
            for name in ("output", "logsumexp"):
                assert np.array_equal(outputs[name][alone], inputs[f"{name}_{other}"][alone], equal_nan=True), case.id
    assert seen > 100


# Attention by parts, in the reference


def attention(inputs, **more):
    attended = attnspec_reference.scaled_dot_product_attention(**inputs, **more)
    return attended.output, attended.logsumexp


@pytest.mark.parametrize("seed", range(40))
def test_random_parts_of_attention_come_to_the_whole(seed):
    generator = np.random.default_rng(seed)
    batch, heads, queries, keys, width = (int(generator.integers(1, most)) for most in (3, 4, 5, 12, 6))
    inputs = {
        "query": generator.standard_normal((batch, heads, queries, width)) * 3,
        "key": generator.standard_normal((batch, heads, keys, width)),
        "value": generator.standard_normal((batch, heads, keys, width)),
    }
    mask = generator.random((queries, keys)) < 0.6
    sinks = generator.standard_normal(heads) if seed % 2 else None
    output, logsumexp = attention({**inputs, "mask": mask, **({} if sinks is None else {"sinks": sinks})})
    bounds = sorted({0, keys, *generator.integers(0, keys + 1, 3).tolist()})
    with_sink = int(generator.integers(len(bounds) - 1))
    order = generator.permutation(len(bounds) - 1)
    state = np.full_like(output, np.nan), np.full_like(logsumexp, -np.inf)
    for part in order:
        chosen = slice(bounds[part], bounds[part + 1])
        some = {**inputs, "key": inputs["key"][:, :, chosen], "value": inputs["value"][:, :, chosen]}
        if sinks is not None and part == with_sink:
            some["sinks"] = sinks
        state = attnspec_reference.merge_states(*state, *attention({**some, "mask": mask[:, chosen]}))
    np.testing.assert_allclose(state[0], output, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(state[1], logsumexp, rtol=1e-12, atol=1e-13)


def test_a_sink_that_is_counted_twice_shows():
    split = SPLITS["split_sink_in_first"]
    states = []
    for part in (0, 1):
        inputs = split.part("split_sink_in_first", part)
        states += attention({**inputs, "sinks": np.array(split.sinks[0])})
    twice = attnspec_reference.merge_states(*states)
    assert np.abs(twice.output - golden("split_sink_in_first")["output"]).max() > 0.01


# Conventions


def test_the_reference_passes_every_case():
    assert {result.status for result in validated(attnspec_reference.merge_states)} == {"pass"}


def otherwise(output_a, logsumexp_a, output_b, logsumexp_b, *, base_2=True, plus=True):
    """The reference, called and answered in logarithms to the base 2, plus infinity standing for no keys."""
    dtype, scale = output_a.dtype, LOG2_E if base_2 else 1.0

    def natural(logsumexp):
        logsumexp = logsumexp.astype(np.float64) / scale
        return np.where(logsumexp == np.inf, -np.inf, logsumexp) if plus else logsumexp

    wide = attnspec_reference.merge_states(
        output_a.astype(np.float64), natural(logsumexp_a), output_b.astype(np.float64), natural(logsumexp_b)
    )
    logsumexp = wide.logsumexp * scale
    logsumexp = np.where(logsumexp == -np.inf, np.inf, logsumexp) if plus else logsumexp
    return wide.output.astype(dtype), logsumexp.astype(dtype)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("base_2", [False, True])
def test_logarithms_are_handed_over_and_expected_as_declared(base_2, plus):
    conventions = {
        "logsumexp_base": "2" if base_2 else "e",
        "empty_logsumexp": "plus_infinity" if plus else "minus_infinity",
    }

    def computed(output_a, logsumexp_a, output_b, logsumexp_b):
        return otherwise(output_a, logsumexp_a, output_b, logsumexp_b, base_2=base_2, plus=plus)

    results = validated(computed, conventions=conventions)
    assert {result.status for result in results} == {"pass"}
    under = {alternative for result in results for alternative in (result.run.expected.under or "").split(", ")}
    assert under == {
        "",
        *(["logsumexp_base=2"] if base_2 else []),
        *(["empty_logsumexp=plus_infinity"] if plus else []),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_natural_logarithms_do_not_pass_for_those_to_the_base_2(dtype):
    results = validated(attnspec_reference.merge_states, conventions={"logsumexp_base": "2"}, dtypes=(dtype,))
    assert "fail" in {result.status for result in results if result.run.case.id == "merge/one_above"}


def weighing_everything(output_a, logsumexp_a, output_b, logsumexp_b):
    """A kernel that multiplies by the weight 0."""
    clean = attnspec_reference.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
    empty = [(logsumexp == -np.inf)[..., None] for logsumexp in (logsumexp_a, logsumexp_b)]
    with np.errstate(invalid="ignore"):
        leaked = sum(np.where(none, 0 * output, 0) for none, output in zip(empty, (output_a, output_b), strict=True))
    return (clean.output + leaked).astype(output_a.dtype), clean.logsumexp


def test_what_a_part_without_keys_holds_may_be_let_through_where_that_is_declared():
    assert {result.status for result in validated(weighing_everything)} == {"pass", "fail"}
    declared = validated(weighing_everything, conventions={"masked_nonfinite": "propagates"})
    assert {result.status for result in declared} == {"pass"}


def test_nan_beside_a_weight_that_underflows_may_be_lost_or_not():
    def losing(output_a, logsumexp_a, output_b, logsumexp_b):
        lost = np.where(np.isfinite(output_b), output_b, 0)
        return attnspec_reference.merge_states(output_a, logsumexp_a, lost, logsumexp_b)

    open_case, required_case = "merge/nan_of_a_part_that_weighs_nothing", "merge/nan_in_second"
    assert {result.status for result in validated(losing, [open_case])} == {"pass"}
    assert {result.status for result in validated(losing, [required_case])} == {"fail"}


def test_every_logarithm_can_be_handed_over_to_either_base_in_every_dtype_of_its_case():
    handed = family_called("attention").handed
    for case in VALID:
        given = handed(
            OPERATION, case.inputs, case.attributes, {"logsumexp_base": "2", "empty_logsumexp": "minus_infinity"}
        )
        largest = {"float16": 65504.0, "float32": 3.4e38, "bfloat16": 3.3e38, "float64": 1e308}
        for name in ("logsumexp_a", "logsumexp_b"):
            finite = np.isfinite(case.inputs[name])
            assert np.abs(given[name][finite]).max(initial=0.0) < min(largest[dtype] for dtype in case.dtypes), case.id


# Tolerance


def step_by_step(output_a, logsumexp_a, output_b, logsumexp_b):
    """A chain of calls, each of which stores its result in the dtype of the run."""
    attnspec_reference.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)  # refuses what must be refused
    empty = [np.isneginf(logsumexp) for logsumexp in (logsumexp_a, logsumexp_b)]
    largest = np.maximum(logsumexp_a, logsumexp_b)
    largest = np.where(empty[0] & empty[1], np.zeros_like(largest), largest)
    with np.errstate(all="ignore"):
        weights = [np.exp(logsumexp - largest) for logsumexp in (logsumexp_a, logsumexp_b)]
        total = weights[0] + weights[1]
        shares = [weight / np.where(total == 0, np.ones_like(total), total) for weight in weights]
        taken = [
            np.where(none[..., None], np.zeros_like(output), share[..., None] * output)
            for none, share, output in zip(empty, shares, (output_a, output_b), strict=True)
        ]
        return taken[0] + taken[1], largest + np.log(total)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_chain_of_calls_that_each_round_is_right(dtype):
    results = validated(step_by_step, dtypes=(dtype,))
    assert {result.status for result in results} <= {"pass", "ungraded", "unsupported"}
    assert len([result for result in results if result.status == "pass"]) > 110


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_chain_of_calls_that_each_round_is_no_fused_kernel(dtype):
    results = validated(step_by_step, dtypes=(dtype,), conventions={"half_precision_grade": "fused"})
    assert "fail" in {result.status for result in results}


def bound(dtype="float32", *, fused=False, conventions=None, **changes):
    inputs = {
        "output_a": np.full((1, 1, 1, 2), 1.0),
        "logsumexp_a": np.full((1, 1, 1), 0.5),
        "output_b": np.full((1, 1, 1, 2), 3.0),
        "logsumexp_b": np.full((1, 1, 1), 0.5),
    } | {name: np.array(array) for name, array in changes.items()}
    return tolerance(OPERATION, inputs, {}, precision_of(dtype, fused=fused), conventions or {})


def test_a_part_that_stands_alone_must_be_right_to_every_bit():
    assert not bound(logsumexp_a=[[[-np.inf]]]).of("output").error.any()
    assert bound().of("output").error.all()


def test_what_a_part_without_keys_holds_does_not_widen_a_tolerance():
    garbage = np.full((1, 1, 1, 2), 1e30)
    assert not bound(logsumexp_a=[[[-np.inf]]], output_a=garbage).of("output").error.any()


def test_logarithms_handed_over_to_the_base_2_are_rounded_once_more():
    widest = bound("bfloat16", fused=True, conventions={"logsumexp_base": "2"})
    assert (widest.of("output").error > bound("bfloat16", fused=True).of("output").error).all()


def test_a_fused_kernel_has_less_room():
    assert (bound("bfloat16", fused=True).of("output").error < bound("bfloat16").of("output").error).all()


def test_far_logarithms_cost_digits_in_no_dtype_but_that_of_the_run():
    near, far = bound("float64"), bound("float64", logsumexp_a=[[[1e4]]], logsumexp_b=[[[1e4]]])
    assert (far.of("output").error > 100 * near.of("output").error).all()
    assert (far.of("output").error < 1e-10).all()
