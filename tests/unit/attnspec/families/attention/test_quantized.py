"""Quantized queries, keys and values: who is called, and what declared roundings may cost."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import attnspec
from attnspec.validation.one_case import case
from attnspec_mistakes.patches import patch
from attnspec_reference.attention.attention_logits import dequantize
from attnspec_reference.attention.phases import weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import widen

DTYPES = ("float64", "float32", "float16", "bfloat16")
GRADES = ("unfused", "fused")


PLAIN = ("quantized/*_per_tensor",)


def validated(function, *, conventions=None, dtypes=DTYPES, select=("quantized/*",)):
    holder = SimpleNamespace(
        scaled_dot_product_attention=function, dtypes=dtypes, conventions=conventions or {}, name="mine"
    )
    report = attnspec.validate(holder, select=select, probes=False)
    return report.results


def wrong(results):
    return [(result.case.id, result.dtype, result.verdict.message) for result in results if result.is_wrong]


def rounding_products(name):
    kind = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)

    def rounded(numbers, scale, dtype):
        if scale is None:
            return np.asarray(numbers)
        return widen(dequantize(numbers, np.asarray(scale).astype(kind), dtype).astype(kind), dtype)

    return patch(scaled_dot_product_attention, dequantize=rounded)


def rounding_weights(name, times):
    """Round weights of quantized values to float8, multiplied by a power of two before."""
    kind = np.dtype(getattr(ml_dtypes, name))

    def weighed(weights, value, attendable):
        return weigh_values((weights * times).astype(kind).astype(weights.dtype) / times, value, attendable)

    rounding = patch(scaled_dot_product_attention, weigh_values=weighed)

    def attend(query, key, value, *, value_scale=None, **others):
        function = scaled_dot_product_attention if value_scale is None else rounding
        return function(query, key, value, value_scale=value_scale, **others)

    # Every argument of the operation by its name, so that the harness sees what is taken.
    attend.__signature__ = inspect.signature(scaled_dot_product_attention)
    return attend


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_products_may_be_rounded_where_that_is_declared(name, grade):
    conventions = {"dequantized": name, "half_precision_grade": grade}
    results = validated(rounding_products(name), conventions=conventions)
    assert wrong(results) == []
    assert {result.dtype for result in results if result.status == "pass"} == set(DTYPES)
    assert wrong(validated(rounding_products(name), dtypes=("float32",), select=PLAIN))


@pytest.mark.parametrize("times", [1.0, 256.0])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_weights_may_be_rounded_where_that_is_declared(name, times):
    function = rounding_weights(name, times)
    results = validated(function, conventions={"quantized_weights": name})
    assert wrong(results) == []
    assert sum(result.status == "pass" for result in results) > 300
    assert wrong(validated(function, dtypes=("bfloat16",)))


def test_what_is_declared_does_not_pass_for_another_scale():
    ignoring = patch(scaled_dot_product_attention, dequantize=lambda numbers, _scale, dtype: widen(numbers, dtype))
    declared = {"dequantized": "bfloat16", "quantized_weights": "float8_e5m2"}
    results = validated(ignoring, conventions=declared, select=PLAIN)
    assert len(wrong(results)) == len(results) > 0


def test_who_takes_no_scales_is_not_called():
    def attend(query, key, value, mask=None):
        raise AssertionError("nothing is called without scales")

    results = validated(attend)
    assert {result.status for result in results} == {"unsupported"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_and_scales_have_dtypes_of_their_own_in_every_run(dtype):
    given = case("quantized/query_grouped", dtype)
    assert {name: array.dtype.name for name, array in given.inputs.items()} == {
        "query": "float8_e4m3fn",
        "key": "float8_e4m3fn",
        "value": "float8_e4m3fn",
        "query_scale": "float32",
        "key_scale": "float32",
        "value_scale": "float32",
    }
    assert given.attributes == {"output_dtype": dtype}
    assert case("quantized/e4m3_per_head", dtype).inputs["query"].dtype.name == dtype


@pytest.mark.parametrize(
    ("without", "left_out"),
    [
        ("int8", "quantized/query_int8"),
        ("float8_e4m3fn", "quantized/query_steps"),
        ("float8_e5m2", "quantized/query_e5m2"),
        ("query_scale", "quantized/query_per_head"),
        ("mixed_quantization", "quantized/keys_alone"),
        ("scale_per_head", "quantized/e4m3_per_head"),
        ("scale_per_batch_entry", "quantized/entries_alone"),
    ],
)
def test_what_is_lacked_is_not_requested(without, left_out):
    holder = SimpleNamespace(
        scaled_dot_product_attention=scaled_dot_product_attention, name="mine", without=(without,), dtypes=("float32",)
    )
    results = attnspec.validate(holder, profile=("quantized",), probes=False).results
    status = {result.case.id: result.status for result in results}
    assert status[left_out] == "unsupported"
    assert status["quantized/query_e5m2" if without != "float8_e5m2" else "quantized/query_int8"] == (
        "unsupported" if without == "query_scale" else "pass"
    )


@pytest.mark.parametrize(("layout", "most_axes"), [("hse", 1), ("se", 0)])
def test_a_layout_without_an_axis_has_none_in_scales_either(layout, most_axes):
    ranks = set()

    def attend(query, key, value, *, key_scale=None, value_scale=None):
        ranks.update(np.ndim(scale) for scale in (key_scale, value_scale) if scale is not None)
        added = (np.newaxis,) * (4 - query.ndim)
        wide = (array[added] for array in (query, key, value))
        output = scaled_dot_product_attention(*wide, key_scale=key_scale, value_scale=value_scale).output
        return output.reshape(output.shape[4 - query.ndim :])

    holder = SimpleNamespace(scaled_dot_product_attention=attend, layout=layout, name="mine")
    results = attnspec.validate(holder, profile=("quantized",), probes=False).results
    assert wrong(results) == []
    passed = {result.case.id for result in results if result.status == "pass"}
    assert {"quantized/e4m3_per_head", "quantized/int8_per_batch_entry", "quantized/e5m2_per_tensor"} <= passed
    assert max(ranks) == most_axes


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not here")
def test_products_of_torch_pass_in_its_own_attention():
    path = Path(__file__).parents[4] / "examples" / "dequantized_torch.py"
    report = attnspec.validate(str(path), profile=("quantized",), probes=False)
    assert wrong(report.results) == []
    assert sum(result.status == "pass" for result in report.results) > 300


def in_float32(**arguments):
    """Round every product with a scale to float32, whatever the dtype of the run."""

    def rounded(numbers, scale, dtype):
        products = dequantize(numbers, scale, dtype)
        return products if scale is None else products.astype(np.float32)

    return patch(scaled_dot_product_attention, dequantize=rounded)(**arguments)


@pytest.mark.parametrize("select", ["quantized/e4m3_per_tensor", "nonfinite/quantized_behind_a_mask"])
def test_products_in_float32_are_too_coarse_in_float64_with_nan_beside_them_or_not_unless_it_is_declared(select):
    assert wrong(validated(in_float32, dtypes=("float64",), select=(select,)))
    declared = {"accumulation": "float32"}
    assert not wrong(validated(in_float32, dtypes=("float64",), select=(select,), conventions=declared))
    assert not wrong(validated(in_float32, dtypes=("float32", "float16", "bfloat16"), select=(select,)))
