"""Sentences that are true: what is said to be measured is so in cases that were not used, and in no dtype untried."""

import subprocess
import sys

import numpy as np
import pytest

import attnspec
from attnspec_reference import apply_rotary
from attnspec_reference import scaled_dot_product_attention as attention

OPERATION = "scaled_dot_product_attention"
PROFILES = ("core", "causal", "masking", "window", "grouped_query", "cache")


def first_diagnosis(function, operation=OPERATION, **selected):
    """The diagnosis that a report begins with."""
    selected.setdefault("profile", PROFILES)
    named = {} if isinstance(function, type) else {"operation": operation}
    report = attnspec.validate(function, **named, **selected)
    assert report.wrong
    return report.diagnosis[0]


def suspected(entry):
    return [suspect.clause for suspect in entry.suspects if suspect.is_reported]


def measured(entry):
    return " ".join(law.sentence for law in entry.laws)


def open_side_as_none(query, key, value, window=None):
    """An open side is read as a bound: -1 stands for it."""
    window = None if window is None else [-1 if side is None else side for side in window]
    if window is None or min(window) >= 0:
        return attention(query, key, value, window=window).output
    ahead = np.arange(key.shape[2]) - np.arange(query.shape[2])[:, np.newaxis]
    return attention(query, key, value, (-window[0] <= ahead) & (ahead <= window[1])).output


def test_an_open_side_that_is_read_as_a_bound_is_about_windows():
    entry = first_diagnosis(open_side_as_none)
    assert suspected(entry) == ["sdpa.window.open_side"]
    assert "without any" not in measured(entry)


def raises_beside_causality(query, key, value, *, is_causal=False):
    output = attention(query, key, value, is_causal=is_causal).output
    return output * 1.01 if is_causal and query.shape[2] > 3 else output


def test_what_goes_wrong_with_causality_alone_is_not_said_to_go_wrong_without_it():
    entry = first_diagnosis(raises_beside_causality)
    assert "without any" not in measured(entry)


class InBfloat16:
    dtypes = ("bfloat16",)

    def scaled_dot_product_attention(self, query, key, value):
        wide = [array.astype(np.float32) for array in (query, key, value)]
        return attention(wide[0] * 1.5, *wide[1:]).output.astype(query.dtype)


def test_of_dtypes_that_are_not_offered_nothing_is_said():
    entry = first_diagnosis(InBfloat16)
    assert "wider" not in measured(entry)
    assert "float32" not in measured(entry)


class WrongInBfloat16:
    dtypes = ("float64", "bfloat16")

    def scaled_dot_product_attention(self, query, key, value):
        wide = [array.astype(np.promote_types(array.dtype, np.float32)) for array in (query, key, value)]
        factor = 1 if query.dtype == np.float64 else 1.5
        return (attention(*wide).output * factor).astype(query.dtype)


def test_a_wider_dtype_that_was_tried_is_named():
    assert measured(first_diagnosis(WrongInBfloat16)) == "It goes wrong in bfloat16, and not in float64."


def keys_end_at_queries(query, key, value, mask=None):
    count = min(query.shape[2], key.shape[2])
    mask = None if mask is None else np.broadcast_to(mask, (*mask.shape[:-1], key.shape[2]))[..., :count]
    return attention(query, key[:, :, :count], value[:, :, :count], mask).output


def test_keys_that_end_at_the_number_of_queries_are_about_keys():
    entry = first_diagnosis(keys_end_at_queries)
    assert (entry.mistake, entry.clause) == ("sdpa.keys_cut_at_queries", "sdpa.softmax.keys")
    assert "number of queries" in measured(entry)


def with_offsets_of_scores(query, key, value, mask=None):
    """A mask is read at the offset that a batch entry has among the scores, whatever axes it has itself."""
    if mask is None:
        return attention(query, key, value).output
    whole = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    batch, heads, queries, keys = (*query.shape[:3], key.shape[2])
    strides = [size if own > 1 else 0 for own, size in zip(whole.shape[1:], (queries * keys, keys, 1), strict=True)]
    entry = (np.arange(batch) % max(len(whole), 1)) * heads * queries * keys
    index = entry.reshape(-1, 1, 1, 1) + sum(
        np.arange(length).reshape((-1,) + (1,) * after) * stride
        for length, after, stride in zip((heads, queries, keys), (2, 1, 0), strides, strict=True)
    )
    flat = np.ascontiguousarray(whole).ravel()
    return attention(query, key, value, flat[index % flat.size] if flat.size else mask).output


def of_the_next_entry(query, key, value, mask=None):
    """A mask with one head takes the batch entry of another tensor's order."""
    if mask is not None and mask.ndim == 4 and mask.shape[1] == 1 < query.shape[1] and len(mask) > 1:
        mask = np.roll(mask, 1, axis=0)
    return attention(query, key, value, mask).output


@pytest.mark.parametrize("function", [with_offsets_of_scores, of_the_next_entry])
def test_a_mask_that_is_wrong_where_it_is_repeated_alone_is_about_broadcasting(function):
    entry = first_diagnosis(function)
    assert (entry.clause or suspected(entry)[0]) == "sdpa.mask.broadcast"


def test_an_inverted_mask_gets_something_to_do():
    def ones_hide(query, key, value, mask=None):
        return attention(query, key, value, None if mask is None else ~mask.astype(np.bool_)).output

    entry = first_diagnosis(ones_hide)
    assert entry.remedy or "hand such code the opposite mask" in measured(entry)


# What depends on earlier calls comes first.


def masks_kept_by_shape():
    kept = {}

    def function(query, key, value, mask=None):
        mask = None if mask is None else kept.setdefault((mask.shape, mask.dtype), mask.copy())
        return attention(query, key, value, mask).output

    return function


def programs_kept_for_another_mask():
    kept = {}

    def function(query, key, value, mask=None, *, is_causal=False):
        program = kept.setdefault(
            (query.shape, key.shape, value.shape, mask is None),
            lambda *tensors: attention(*tensors, mask=mask, is_causal=is_causal).output,
        )
        return program(query, key, value)

    return function


def other_scale_with_each_call():
    calls = []

    def function(query, key, value):
        calls.append(None)
        return attention(query, key, value, scale=query.shape[-1] ** -0.5 * 1.1 ** (len(calls) % 7)).output

    return function


@pytest.mark.parametrize("made", [masks_kept_by_shape, programs_kept_for_another_mask, other_scale_with_each_call])
def test_attention_that_depends_on_earlier_calls_is_said_to_first(made):
    entry = first_diagnosis(made())
    assert "sdpa.repeatable" in (entry.clause, *suspected(entry))


def width_halved_with_every_call():
    calls = []

    def function(x, cos, sin, pairing):
        pairs = max(cos.shape[-1] >> len(calls), 1) if cos.shape[-1] else 0
        calls.append(None)
        turned = apply_rotary(x[..., : 2 * pairs], cos[..., :pairs], sin[..., :pairs], pairing=pairing)
        return np.concatenate([turned, x[..., 2 * pairs :]], axis=-1)

    return function


def tables_kept_by_shape():
    kept = {}

    def function(x, cos, sin, pairing):
        return apply_rotary(x, *kept.setdefault((x.shape, cos.shape), (cos.copy(), sin.copy())), pairing=pairing)

    return function


@pytest.mark.parametrize("made", [width_halved_with_every_call, tables_kept_by_shape])
def test_a_rotation_that_depends_on_earlier_calls_is_said_to_first(made):
    report = attnspec.validate(made(), operation="apply_rotary", profile="rotary")
    first, *others = [entry for entry in report.diagnosis if ".rejects." not in (entry.clause or "")]
    assert "apply_rotary.repeatable" in (first.clause, *suspected(first))
    assert all(suspected(entry) == ["apply_rotary.repeatable"] for entry in others if entry.clause is None)


# A layout's own clause comes before those that hold in all.


def in_pages(slot_of_value, slot_of_key=lambda pages, key, size: (pages[key // size], key % size)):
    """Attention over pages by a rule of its own, which gives page and slot of a key or value."""

    class InPages:
        layout = "paged"

        @staticmethod
        def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths):
            output = np.zeros((*query.shape[:3], value_pool.shape[3]), dtype=query.dtype)
            for entry, (pages, count) in enumerate(zip(block_table, key_lengths, strict=True)):
                key, value = (
                    np.array([pool[rule(pages, number, pool.shape[1])] for number in range(count)])
                    .reshape(count, *pool.shape[2:])
                    .swapaxes(0, 1)
                    for pool, rule in ((key_pool, slot_of_key), (value_pool, slot_of_value))
                )
                output[entry] = attention(query[entry : entry + 1], key[np.newaxis], value[np.newaxis]).output[0]
            return output

    return InPages


PAGED = {
    "values at slot j // page": in_pages(lambda pages, key, size: (pages[key // size], min(key // size, size - 1))),
    "pages in the order of the pool": in_pages(*[lambda _pages, key, size: (key // size, key % size)] * 2),
}


@pytest.mark.parametrize("function", PAGED.values(), ids=PAGED)
def test_what_is_read_elsewhere_is_about_pages(function):
    entry = first_diagnosis(function, profile=("core", "paged"))
    assert suspected(entry)[0].startswith("sdpa.paged.")
    assert "runs that begin" not in measured(entry)


def test_a_scale_that_is_missing_stays_so_in_pages():
    class Unscaled:
        layout = "paged"

        @staticmethod
        def scaled_dot_product_attention(query, **given):
            right = in_pages(lambda pages, key, size: (pages[key // size], key % size))
            return right.scaled_dot_product_attention(query * np.sqrt(query.shape[-1]), **given)

    assert first_diagnosis(Unscaled, profile=("core", "paged")).mistake == "sdpa.scale_missing"


# Warnings.

OVER_THE_BATCH = """
import numpy as np


def softmax_over_first_axis(query, key, value):
    repeats = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, repeats, axis=1), np.repeat(value, repeats, axis=1)
    scores = query @ key.swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(initial=-1e300))
    return weights / weights.sum(axis=0) @ value
"""


def test_no_warning_of_the_search_for_laws_reaches_the_terminal(tmp_path):
    (tmp_path / "mine.py").write_text(OVER_THE_BATCH, encoding="utf-8")
    target = (f"{tmp_path / 'mine.py'}:softmax_over_first_axis", "--as", OPERATION, "--profile", "core")
    ended = subprocess.run(
        [sys.executable, "-m", "attnspec", "validate", *target], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Warning" not in ended.stdout + ended.stderr


def parts_lost(query, key, value):
    """The keys are dealt out to six parts, of which four are merged."""
    dealt = np.arange(key.shape[2]) % 6 < 4
    return (
        attention(query, key, value, dealt[np.newaxis]).output if key.shape[2] else attention(query, key, value).output
    )


def test_keys_that_are_left_out_anywhere_are_about_the_softmax_over_keys():
    entry = first_diagnosis(parts_lost, profile=(*PROFILES, "tails"))
    assert suspected(entry) == ["sdpa.softmax.keys"]
    assert "keys 4, 5, 10, 11, 16, 17, … are left out" in measured(entry)


def prefix_of_queries(query, key, value, mask=None, is_causal=False):
    """Causal behind a prefix that all see; the prefix is looked for among the queries."""
    length = query.shape[2]
    if key.shape[2] != length:
        raise NotImplementedError("as many keys as queries")
    prefix = 0 if is_causal else length
    if mask is not None:
        prefix = int(mask[0].sum()) if mask.ndim == 2 and mask.dtype == bool else 0
        of_keys = np.tri(length, dtype=bool) | (np.arange(length) < prefix)
        if is_causal or prefix < 1 or mask.shape != of_keys.shape or (mask != of_keys).any():
            raise NotImplementedError("a prefix")
    allowed = np.tri(length, dtype=bool) | (np.arange(length) < prefix)[:, np.newaxis]
    return attention(query, key, value, allowed).output


def test_the_one_shape_of_mask_that_is_taken_is_not_said_to_be_what_goes_wrong():
    entry = first_diagnosis(prefix_of_queries, profile=(*PROFILES, "documents"))
    assert suspected(entry) == ["sdpa.mask.boolean"]
    assert "the same for every" not in measured(entry)
