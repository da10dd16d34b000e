"""What must stay the same when the same call is made in another way, and where NaN and infinity may go."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention

GENERATOR = np.random.default_rng(11)
QUERY, KEY, VALUE = (GENERATOR.normal(size=shape) for shape in ((2, 6, 5, 4), (2, 3, 5, 4), (2, 3, 5, 7)))
SLOPES, SINKS = 2.0 ** -np.arange(1.0, 7.0), GENERATOR.normal(size=6)
EVERYTHING = {"is_causal": True, "softcap": 2.0, "window": [3, 1], "alibi_slopes": SLOPES, "sinks": SINKS}
MASK = np.where(GENERATOR.random((6, 5, 5)) < 0.8, GENERATOR.normal(size=(6, 5, 5)), -np.inf)


def assert_same(one, other, names=("output", "logsumexp")):
    for name in names:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-13, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("attributes", [{"is_causal": True}, EVERYTHING])
@pytest.mark.parametrize("chunks", [(1, 1, 1, 1, 1), (2, 3), (4, 1), (1, 4)])
def test_chunks_with_a_cache_give_what_one_pass_gives(attributes, chunks):
    whole = scaled_dot_product_attention(QUERY, KEY, VALUE, **attributes)
    past, outputs, start = {}, [], 0
    for length in chunks:
        part = np.s_[:, :, start : start + length]
        result = scaled_dot_product_attention(QUERY[part], KEY[part], VALUE[part], **past, **attributes)
        past = {"past_key": result.present_key, "past_value": result.present_value}
        outputs.append(result)
        start += length
    assert np.array_equal(past["past_key"], KEY)
    assert np.array_equal(past["past_value"], VALUE)
    for name in ("output", "logsumexp"):
        joined = np.concatenate([getattr(result, name) for result in outputs], axis=2)
        np.testing.assert_allclose(joined, getattr(whole, name), rtol=1e-13, atol=1e-14)


def test_the_order_of_keys_does_not_matter_where_positions_do_not():
    order = GENERATOR.permutation(5)
    attributes = {"softcap": 2.0, "sinks": SINKS}
    one = scaled_dot_product_attention(QUERY, KEY, VALUE, MASK, **attributes)
    other = scaled_dot_product_attention(QUERY, KEY[:, :, order], VALUE[:, :, order], MASK[..., order], **attributes)
    assert_same(one, other)
    np.testing.assert_allclose(other.weights, one.weights[..., order], rtol=1e-13)


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e300])
def test_padding_by_lengths_is_slicing(alignment, poison):
    attributes = EVERYTHING | {"causal_alignment": alignment}
    query, key, value = QUERY.copy(), KEY.copy(), VALUE.copy()
    query[:, :, 3:] = key[:, :, 4:] = value[:, :, 4:] = poison
    lengths = {"key_lengths": np.array([4, 4]), "query_lengths": np.array([3, 3])}
    padded = scaled_dot_product_attention(query, key, value, MASK, **lengths, **attributes)
    sliced = scaled_dot_product_attention(
        QUERY[:, :, :3], KEY[:, :, :4], VALUE[:, :, :4], MASK[:, :3, :4], **attributes
    )
    np.testing.assert_allclose(padded.output[:, :, :3], sliced.output, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(padded.logsumexp[:, :, :3], sliced.logsumexp, rtol=1e-13)
    assert not padded.output[:, :, 3:].any()


def test_batch_entries_of_different_lengths_do_not_mix():
    attributes = EVERYTHING | {"causal_alignment": "bottom_right"}
    lengths = {"key_lengths": np.array([3, 5]), "query_lengths": np.array([2, 4])}
    together = scaled_dot_product_attention(QUERY, KEY, VALUE, **lengths, **attributes)
    for b in range(2):
        alone = scaled_dot_product_attention(
            *(array[b : b + 1] for array in (QUERY, KEY, VALUE)),
            **{name: array[b : b + 1] for name, array in lengths.items()},
            **attributes,
        )
        np.testing.assert_allclose(together.output[b], alone.output[0], rtol=1e-13, atol=1e-14)


def test_later_keys_do_not_change_earlier_queries():
    before = scaled_dot_product_attention(QUERY, KEY, VALUE, **EVERYTHING)
    key, value = KEY.copy(), VALUE.copy()
    key[:, :, 3:], value[:, :, 3:] = 1e5, -1e5
    after = scaled_dot_product_attention(QUERY, key, value, **EVERYTHING)
    assert np.array_equal(before.output[:, :, :3], after.output[:, :, :3])
    assert not np.array_equal(before.output[:, :, 3:], after.output[:, :, 3:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_mask_can_say_what_causality_window_and_alibi_say(dtype):
    rows, columns = np.arange(5)[:, np.newaxis], np.arange(5)
    bias = -SLOPES[:, np.newaxis, np.newaxis] * np.abs(rows - columns)
    mask = np.where((columns <= rows) & (columns >= rows - 3), bias, -np.inf).astype(np.float64)
    query, key, value, slopes = (array.astype(dtype) for array in (QUERY, KEY, VALUE, SLOPES))
    reported = scaled_dot_product_attention(query, key, value, is_causal=True, window=[3, None], alibi_slopes=slopes)
    masked = scaled_dot_product_attention(query, key, value, mask.astype(dtype))
    assert reported.output.dtype == dtype
    assert np.array_equal(reported.output, masked.output)


def test_a_sink_is_a_key_with_a_value_of_zeros():
    one = np.ones((2, 6, 5, 1))
    query = np.concatenate([QUERY, one], axis=-1)
    key, value = np.repeat(KEY, 2, axis=1), np.repeat(VALUE, 2, axis=1)
    sink = np.zeros((2, 6, 1, 5))
    sink[..., 0, 4] = SINKS * 2
    key = np.concatenate([np.concatenate([key, one * 0], axis=-1), sink], axis=2)
    value = np.concatenate([value, np.zeros((2, 6, 1, 7))], axis=2)
    with_key = scaled_dot_product_attention(query, key, value, scale=0.5)
    assert_same(scaled_dot_product_attention(QUERY, KEY, VALUE, sinks=SINKS), with_key)


# Inputs in memory


def in_memory_order(array, how):
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "heads last":
        return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)
    if how == "reversed":
        return array[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    if how == "gapped":
        gapped = np.full((*array.shape[:-1], array.shape[-1] * 2), np.nan)
        gapped[..., ::2] = array
        return gapped[..., ::2]
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("how", ["fortran", "heads last", "reversed", "gapped", "read-only"])
def test_memory_layout_changes_nothing(how):
    past_key, past_value = KEY[:, :, :2] + 1, VALUE[:, :, :2] - 1
    arrays = {"query": QUERY, "key": KEY, "value": VALUE, "past_key": past_key, "past_value": past_value}
    moved = {name: in_memory_order(array, how) for name, array in arrays.items()}
    one = scaled_dot_product_attention(**arrays, **EVERYTHING)
    other = scaled_dot_product_attention(**moved, **EVERYTHING)
    assert_same(one, other, one._fields)
    for name, array in moved.items():
        assert np.array_equal(array, arrays[name])


def test_one_part_of_memory_may_stand_for_many():
    key, value = (np.broadcast_to(array[:1, :1], array.shape) for array in (KEY, VALUE))
    assert_same(
        scaled_dot_product_attention(QUERY, key, value, **EVERYTHING),
        scaled_dot_product_attention(QUERY, key.copy(), value.copy(), **EVERYTHING),
    )


def test_inputs_are_not_modified_and_may_be_the_same_array():
    x = QUERY.copy()
    first = scaled_dot_product_attention(x, x, x, x[..., :1, :1] * np.ones((5, 10)), x, x, **EVERYTHING)
    assert np.array_equal(x, QUERY)
    kept = first.output.copy()
    scaled_dot_product_attention(x * 2, x, x, **EVERYTHING)
    assert np.array_equal(first.output, kept)
    first.present_key[:] = np.nan
    assert np.array_equal(x, QUERY)


# NaN and infinity


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_query_that_is_not_finite_spoils_its_row_alone(number, dtype):
    query = QUERY.astype(dtype)
    query[1, 2, 3] = number
    result = scaled_dot_product_attention(query, KEY.astype(dtype), VALUE.astype(dtype))
    clean = scaled_dot_product_attention(QUERY.astype(dtype), KEY.astype(dtype), VALUE.astype(dtype))
    assert np.isnan(result.output[1, 2, 3]).all()
    assert np.isnan(result.weights[1, 2, 3]).all()
    assert np.isnan(result.logsumexp[1, 2, 3])
    others = np.ones((2, 6, 5), dtype=bool)
    others[1, 2, 3] = False
    assert np.array_equal(result.output[others], clean.output[others])


def one_feature(*numbers):
    return np.array(numbers).reshape(1, 1, -1, 1)


def test_a_key_at_minus_infinity_beside_others_has_no_weight():
    result = scaled_dot_product_attention(one_feature(1.0), one_feature(-np.inf, 0.0), one_feature(1.0, 3.0))
    assert result.weights.ravel().tolist() == [0, 1]
    assert result.output.item() == 3


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "excluding",
    [
        {"mask": np.array([[True, True, True, True, False]])},
        {"mask": np.array([[0.0, 0.0, 0.0, 0.0, -np.inf]])},
        {"mask": np.array([[1.0, 1.0, 1.0, 1.0, -np.inf]]), "alibi_slopes": SLOPES, "softcap": 2.0, "sinks": SINKS},
        {"key_lengths": np.array([4, 4])},
        {"is_causal": True, "query_lengths": np.array([4, 4])},
        {"window": [None, 0], "query_lengths": np.array([4, 4])},
    ],
)
def test_what_is_excluded_has_no_effect(poison, excluding):
    key, value = KEY.copy(), VALUE.copy()
    key[:, :, 4] = value[:, :, 4] = poison
    clean = scaled_dot_product_attention(QUERY, KEY, VALUE, **excluding)
    poisoned = scaled_dot_product_attention(QUERY, key, value, **excluding)
    for name in ("output", "weights", "logsumexp", "logits"):
        assert np.array_equal(getattr(poisoned, name), getattr(clean, name)), name


def test_infinite_values_keep_their_feature_and_their_sign():
    value = VALUE.copy()
    value[0, 0, 1, 2], value[0, 0, 3, 4] = np.inf, -np.inf
    result = scaled_dot_product_attention(QUERY, KEY, value, is_causal=True)
    clean = scaled_dot_product_attention(QUERY, KEY, VALUE, is_causal=True)
    assert (result.output[0, :2, 1:, 2] == np.inf).all()
    assert (result.output[0, :2, 3:, 4] == -np.inf).all()
    finite = np.isfinite(result.output)
    assert np.count_nonzero(~finite) == 2 * 4 + 2 * 2
    assert np.array_equal(result.output[finite], clean.output[finite])
