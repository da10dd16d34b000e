"""Positions: past keys, lengths, windows, and the positions of the queries by them, in numbers to follow by hand.

Queries and keys are zeros, so that an output is the mean of the values whose keys were seen.
"""

import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention


def column(*numbers):
    """One batch entry, one head, a token for each number, one feature."""
    return np.array(numbers, dtype=float).reshape(1, 1, -1, 1)


def seen(query_length, values, past=None, **arguments):
    """The outputs of every batch entry; `values` and `past` are rows of numbers, one for each batch entry."""
    value = np.array(values, dtype=float)[:, np.newaxis, :, np.newaxis]
    if past is not None:
        arguments["past_value"] = np.array(past, dtype=float)[:, np.newaxis, :, np.newaxis]
        arguments["past_key"] = np.zeros_like(arguments["past_value"])
    query = np.zeros((value.shape[0], 1, query_length, 1))
    return scaled_dot_product_attention(query, np.zeros_like(value), value, **arguments).output[:, 0, :, 0]


def assert_rows(outputs, expected):
    assert outputs.tolist() == [pytest.approx(row, rel=1e-15) for row in expected]


# Past


@pytest.mark.parametrize(
    ("past", "new", "attributes", "expected"),
    [
        ([1, 2, 4], [8, 16], {"is_causal": True}, [3.75, 6.2]),
        ([1, 2, 4], [8, 16], {"is_causal": True, "causal_alignment": "bottom_right"}, [3.75, 6.2]),
        ([1, 2, 4], [8, 16], {}, [6.2, 6.2]),
        ([1, 2], [4], {"is_causal": True}, [7 / 3]),
        ([], [8, 16], {"is_causal": True}, [8, 12]),
        ([1, 2, 4], [8, 16], {"window": [1, 0]}, [6, 12]),
        ([1, 2, 4], [8, 16], {"window": [3, None], "is_causal": True}, [3.75, 7.5]),
    ],
)
def test_new_queries_stand_behind_the_past(past, new, attributes, expected):
    assert_rows(seen(len(new), [new], [past], **attributes), [expected])


@pytest.mark.parametrize(
    ("alignment", "expected"), [("top_left", [3.75, 6.2, 6.2]), ("bottom_right", [7 / 3, 3.75, 6.2])]
)
def test_alignments_differ_with_a_past_when_queries_are_not_as_many_as_new_keys(alignment, expected):
    # Three queries, two new keys: with top_left the last query stands behind the last key.
    assert_rows(seen(3, [[8, 16]], [[1, 2, 4]], is_causal=True, causal_alignment=alignment), [expected])


def test_present_is_past_and_new_to_the_last_bit():
    generator = np.random.default_rng(0)
    query, key, value = (generator.normal(size=(2, heads, 2, 3)).astype(np.float16) for heads in (4, 2, 2))
    past_key, past_value = (generator.normal(size=(2, 2, 3, 3)).astype(np.float16) for _ in range(2))
    result = scaled_dot_product_attention(query, key, value, past_key=past_key, past_value=past_value)
    for present, past, new in ((result.present_key, past_key, key), (result.present_value, past_value, value)):
        assert present.dtype == np.float16
        assert np.array_equal(present, np.concatenate([past, new], axis=2))


def test_present_without_a_past_is_a_copy_of_key_and_value():
    key, value = column(1, 2), column(3, 4)
    result = scaled_dot_product_attention(column(0), key, value)
    assert np.array_equal(result.present_key, key)
    assert np.array_equal(result.present_value, value)
    assert not np.shares_memory(result.present_key, key)
    assert not np.shares_memory(result.present_value, value)


def test_a_mask_covers_past_and_new_keys():
    mask = np.array([[False, True, True, False]])
    assert_rows(seen(1, [[8]], [[1, 2, 4]], mask=mask), [[3]])
    with pytest.raises(ValueError, match="mask has shape"):
        seen(1, [[8]], [[1, 2, 4]], mask=mask[:, :1])


# Lengths


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [[3.75, 3.75], [1.5, 1.5]]),
        ({"is_causal": True}, [[1, 1.5], [1, 1.5]]),
        ({"is_causal": True, "causal_alignment": "bottom_right"}, [[7 / 3, 3.75], [1, 1.5]]),
        ({"window": [0, 1]}, [[1.5, 3], [1.5, 2]]),
        ({"window": [0, 1], "causal_alignment": "bottom_right"}, [[6, 8], [1.5, 2]]),
    ],
)
def test_each_batch_entry_ends_at_its_own_key(attributes, expected):
    values = [[1, 2, 4, 8], [1, 2, 4, 8]]
    assert_rows(seen(2, values, key_lengths=np.array([4, 2]), **attributes), expected)


def test_an_external_cache_gives_what_a_past_gives():
    # New tokens are in place at the end of each batch entry: lengths 5 and 3, two new tokens each.
    outputs = seen(
        2,
        [[1, 2, 4, 8, 16], [1, 2, 4, np.nan, np.inf]],
        key_lengths=np.array([5, 3]),
        is_causal=True,
        causal_alignment="bottom_right",
    )
    assert_rows(outputs, [[3.75, 6.2], [1.5, 7 / 3]])


def test_the_last_query_that_counts_stands_at_the_last_key_that_counts():
    outputs = seen(
        2,
        [[1, 2, 4, 8], [1, 2, 4, 8]],
        key_lengths=np.array([4, 2]),
        query_lengths=np.array([2, 1]),
        is_causal=True,
        causal_alignment="bottom_right",
    )
    assert_rows(outputs, [[7 / 3, 3.75], [1.5, 0]])


def test_without_key_lengths_the_last_query_stands_at_the_last_key_of_all():
    bottom_right = {"is_causal": True, "causal_alignment": "bottom_right"}
    assert_rows(seen(3, [[1, 2, 4]], query_lengths=np.array([2]), **bottom_right), [[1.5, 7 / 3, 0]])


def test_rows_that_do_not_count_hold_zeros_and_minus_infinity():
    query, value = np.array([0, np.nan]).reshape(1, 1, 2, 1), column(1, 3)
    result = scaled_dot_product_attention(
        query, np.zeros_like(value), value, query_lengths=np.array([1]), sinks=np.array([0.5])
    )
    assert result.output[0, 0, 1, 0] == 0
    assert result.weights[0, 0, 1].tolist() == [0, 0]
    assert result.logsumexp[0, 0, 1] == -np.inf


@pytest.mark.parametrize("causal", [False, True])
def test_packed_segments_are_separate_calls(causal):
    # Segments of 1, 0 and 2 queries, with 2, 1 and 0 keys, as a padded batch with poison behind each end.
    generator = np.random.default_rng(1)
    query, key, value = (generator.normal(size=(3, 2, length, 3)) for length in (2, 2, 2))
    query_lengths, key_lengths = np.array([1, 0, 2]), np.array([2, 1, 0])
    for b in range(3):
        query[b, :, query_lengths[b] :] = key[b, :, key_lengths[b] :] = value[b, :, key_lengths[b] :] = np.nan
    attributes = {"is_causal": causal, "causal_alignment": "bottom_right"}
    batch = scaled_dot_product_attention(
        query, key, value, key_lengths=key_lengths, query_lengths=query_lengths, **attributes
    )
    for b in range(3):
        rows, keys = slice(query_lengths[b]), slice(key_lengths[b])
        alone = scaled_dot_product_attention(
            query[b : b + 1, :, rows], key[b : b + 1, :, keys], value[b : b + 1, :, keys], **attributes
        )
        np.testing.assert_allclose(batch.output[b, :, rows], alone.output[0], rtol=1e-14)
        np.testing.assert_allclose(batch.logsumexp[b, :, rows], alone.logsumexp[0], rtol=1e-14)


# Windows


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ([1, 0], [1, 1.5, 3, 6]),
        ([0, 1], [1.5, 3, 6, 8]),
        ([1, 1], [1.5, 7 / 3, 14 / 3, 6]),
        ([0, 0], [1, 2, 4, 8]),
        ([2, None], [3.75, 3.75, 3.75, 14 / 3]),
        ([None, 0], [1, 1.5, 7 / 3, 3.75]),
        ([4, 4], [3.75] * 4),
        ([None, None], [3.75] * 4),
        (None, [3.75] * 4),
        (np.array([1, 0]), [1, 1.5, 3, 6]),
    ],
)
def test_a_window_states_distances_that_are_included(window, expected):
    assert_rows(seen(4, [[1, 2, 4, 8]], window=window), [expected])


def test_a_window_and_causality_both_exclude():
    assert_rows(seen(4, [[1, 2, 4, 8]], window=[2, 1], is_causal=True), [[1, 1.5, 7 / 3, 14 / 3]])
    # Two keys with the query's own, and three: a window that is off by one shows in the last row.
    assert_rows(seen(4, [[1, 2, 4, 8]], window=[1, None], is_causal=True), [[1, 1.5, 3, 6]])


@pytest.mark.parametrize(
    ("alignment", "expected"), [("top_left", [1, 1.5]), ("bottom_right", [12, 24]), (None, [1, 1.5])]
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_window_moves_with_the_queries(alignment, expected, is_causal):
    attributes = {} if alignment is None else {"causal_alignment": alignment}
    outputs = seen(2, [[1, 2, 4, 8, 16, 32]], window=[1, 0], is_causal=is_causal, **attributes)
    assert_rows(outputs, [expected])


def test_a_window_beyond_the_keys_leaves_nothing():
    assert_rows(seen(4, [[1, 2]], window=[0, 0]), [[1, 2, 0, 0]])
    assert_rows(seen(4, [[1, 2]], window=[0, 0], causal_alignment="bottom_right"), [[0, 0, 1, 2]])


# Refusals

PAST = {"past_key": (2, 3, 2, 4), "past_value": (2, 3, 2, 7)}


def attention(**more):
    shapes = {"query": (2, 6, 3, 4), "key": (2, 3, 5, 4), "value": (2, 3, 5, 7)}
    arrays = {name: np.zeros(shape) for name, shape in (shapes | PAST).items()}
    wanted = [*shapes, *(PAST if more.pop("past", False) else ())]
    return scaled_dot_product_attention(**{name: arrays[name] for name in wanted} | more)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"past_key": np.zeros(PAST["past_key"])}, "past_key is given, but past_value is not"),
        ({"past_value": np.zeros(PAST["past_value"])}, "past_value is given, but past_key is not"),
        ({"past": True, "past_key": np.zeros((2, 3, 2, 5))}, r"past_key has shape \(2, 3, 2, 5\)"),
        ({"past": True, "past_key": np.zeros((1, 3, 2, 4))}, r"past_key has shape \(1, 3, 2, 4\)"),
        ({"past": True, "past_key": np.zeros((2, 6, 2, 4))}, r"past_key has shape \(2, 6, 2, 4\)"),
        ({"past": True, "past_value": np.zeros((2, 3, 2, 4))}, r"past_value has shape \(2, 3, 2, 4\)"),
        ({"past": True, "past_value": np.zeros((3, 2, 7))}, r"past_value has shape \(3, 2, 7\)"),
        ({"past": True, "past_value": np.zeros((2, 3, 1, 7))}, "same number of tokens"),
        ({"past": True, "key_lengths": [5, 5]}, "key_lengths and past_key are both given"),
        ({"past": True, "query_lengths": [3, 3]}, "query_lengths and past_key are both given"),
        ({"key_lengths": [5, 6]}, r"key_lengths is \[5, 6\]; each length must be between 0 and 5"),
        ({"key_lengths": [-1, 5]}, "between 0 and 5"),
        ({"query_lengths": [3, 4]}, "between 0 and 3"),
        ({"key_lengths": [5]}, r"key_lengths has shape \(1,\); a batch of 2 needs \(2,\)"),
        ({"key_lengths": [[5, 5]]}, r"needs \(2,\)"),
        ({"key_lengths": [5.0, 5.0]}, "key_lengths has dtype float64"),
        ({"query_lengths": [True, True]}, "query_lengths has dtype bool"),
        ({"window": [1]}, r"window is \[1\]"),
        ({"window": [1, 2, 3]}, "must be"),
        ({"window": 4}, "window is 4"),
        ({"window": [-1, 0]}, r"window is \[-1, 0\]"),
        ({"window": [0, -1]}, "at least 0"),
        ({"window": [0.5, 1]}, "whole number"),
    ],
)
def test_refuses_what_does_not_fit(more, sentence):
    with pytest.raises(ValueError, match=sentence):
        attention(**more)


def test_what_the_refusals_start_from_is_valid():
    assert attention(past=True).output.shape == (2, 6, 3, 7)
    assert attention(key_lengths=[0, 5], query_lengths=np.array([3, 0], dtype=np.int32), window=[0, None]) is not None
