"""What an implementation could declare, so that what went wrong would be none."""

import numpy as np
import pytest

import attnspec
from attnspec.diagnosis import could_be_declared

OPERATION = "scaled_dot_product_attention"


def textbook(query, key, value, mask=None):
    """Attention as a textbook has it: a Boolean mask, no grouped heads, NaN where nothing may be attended."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def without_scale(query, key, value, mask=None):
    return textbook(query * np.sqrt(query.shape[-1]), key, value, mask)


def uniform(query, key, value, mask=None):
    """Dead rows weigh all keys alike, for they are filled with a large negative number; grouped heads are repeated."""
    repeats = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, repeats, axis=1), np.repeat(value, repeats, axis=1)
    if mask is not None and mask.dtype == np.bool_:
        mask = np.where(mask, 0, -1e30)
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) + (0 if mask is None else np.maximum(mask, -1e30))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e30))
    return (weights / weights.sum(axis=-1, keepdims=True) @ value).astype(query.dtype)


def nan_in_float32(query, key, value, mask=None):
    """Dead rows are zeros, but NaN in float32."""
    output = uniform(query, key, value, mask)
    if mask is None:
        return output
    excluded = ~mask if mask.dtype == np.bool_ else np.isneginf(mask)
    shape = (*query.shape[:-1], key.shape[-2])
    dead = np.broadcast_to(excluded, shape).all(axis=-1, keepdims=True)
    return np.where(dead, np.nan if query.dtype == np.float32 else 0, output).astype(query.dtype)


def validated(function, **options):
    return attnspec.validate(function, operation=OPERATION, probes=False, **options)


def test_textbook_attention_passes_with_what_is_offered():
    report = validated(textbook)
    offered = report.could_be_declared
    assert set(offered.without) == {"float_mask", "grouped_query"}
    assert offered.fewer == offered.of == len(report.wrong)
    after = validated(textbook, without=offered.without, conventions=offered.conventions)
    assert not after.wrong
    assert after.could_be_declared is None


def diagonal_of_squares(query, key, value, is_causal=False):
    """Causal attention that excludes keys ahead among the first Sq alone: the others are seen by all."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if is_causal:
        rows, columns = np.triu_indices(query.shape[2], 1)
        within = columns < key.shape[2]
        scores[..., rows[within], columns[within]] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def test_it_is_said_how_much_is_right_where_all_that_stays_is_about_edges():
    report = validated(textbook)
    offered = report.could_be_declared
    assert offered.left == ()
    assert offered.right == sum(result.status == "pass" for result in report.results)


def test_an_offer_that_leaves_a_plain_number_wrong_calls_nothing_right():
    report = validated(diagonal_of_squares)
    offered = report.could_be_declared
    assert offered.fewer < offered.of
    assert offered.left is None


def test_nothing_is_offered_for_a_mistake():
    assert validated(without_scale).could_be_declared is None


@pytest.mark.parametrize("dtypes", [("float64",), ("float64", "float32")])
def test_a_convention_is_offered_alone(dtypes):
    report = validated(uniform, dtypes=dtypes, conventions={"input_checks": "lenient"}, profile=("masking", "core"))
    offered = report.could_be_declared
    assert offered.conventions["fully_masked_row"] == "uniform"
    assert "boolean_mask" not in offered.without


def test_a_convention_of_one_dtype_is_offered_for_it():
    class Mine:
        dtypes = ("float64", "float32")
        conventions = {"input_checks": "lenient", "no_keys": "refuse", "masked_nonfinite": "propagates"}  # noqa: RUF012
        without = ("empty_keys",)

        def scaled_dot_product_attention(self, query, key, value, mask=None):
            return nan_in_float32(query, key, value, mask)

    report = attnspec.validate(Mine, profile="masking", probes=False)
    assert report.could_be_declared.conventions == {"fully_masked_row@float32": "nan"}


def test_what_was_lent_is_offered_as_such():
    memory = {}

    def lends(query, key, value):
        output = textbook(query, key, value)
        kept = memory.setdefault((output.shape, output.dtype), output)
        kept[...] = output
        return kept

    report = validated(lends, profile="core", without=("grouped_query",), conventions={"input_checks": "lenient"})
    assert report.could_be_declared.conventions.get("outputs") == "until_next_call"


def wrong_from_100_keys(query, key, value):
    output = uniform(query, key, value)
    return output * 1.5 if key.shape[2] >= 100 else output


ONE = "draw:scaled_dot_product_attention/1/17:float64:queries=1:keys={keys}:batch=1:group=1:past=0:shared=1"
PLAINEST = ":without=alibi_slopes+is_causal+key_lengths+mask+past_key+query_lengths+query_scale+refused+scale+sinks"


@pytest.mark.parametrize("keys", [(115,), (100, 115, 2), (100, 101, 102, 103)])
def test_what_all_cases_need_is_no_capability_that_lacks(keys):
    draws = [f"{ONE.format(keys=count)}{PLAINEST}+softcap+window" for count in keys]
    report = validated(wrong_from_100_keys, select=draws, conventions={"input_checks": "lenient"})
    assert report.wrong
    assert report.could_be_declared is None


def test_nothing_failed_and_nothing_is_offered():
    report = attnspec.validate("reference", profile="core", probes=False)
    assert report.could_be_declared is None
    assert could_be_declared(report.results) is None


def in_one_piece(query, key, value, mask=None):
    """Attention that refuses what does not lie in one piece."""
    for array in (query, key, value):
        if not array.flags.c_contiguous:
            raise ValueError("not in one piece")
    return textbook(query, key, value, mask)


def in_the_order_of_memory(query, key, value, mask=None):
    """Attention that reads memory from its beginning, whatever the strides are."""
    read = (np.ravel(array, order="K").reshape(array.shape) for array in (query, key, value))
    return textbook(*read, mask)


def test_inputs_in_one_piece_are_declared_where_others_are_refused_and_not_where_they_are_misread():
    refusing = validated(in_one_piece, profile=("memory", "core"))
    assert "strided_inputs" in refusing.could_be_declared.without
    declared = validated(in_one_piece, profile="memory", without=("strided_inputs",))
    assert not any("piece" in result.verdict.message for result in declared.wrong)
    misreading = validated(in_the_order_of_memory, profile=("memory", "core"))
    assert misreading.wrong
    assert misreading.could_be_declared is None or "strided_inputs" not in misreading.could_be_declared.without
