"""A plain attention by the folding helper: what it is called with, and that folding makes nothing wrong."""

import re
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import attnspec
from attnspec.base.errors import TargetError, Unsupported
from attnspec.families.attention.folding import plain_attention

DTYPES = ("float64", "float32", "float16", "bfloat16")
CONVENTIONS = {
    "fully_masked_row": "nan",
    "masked_nonfinite": "propagates",
    "half_precision_overflow": "open",
    "input_checks": "lenient",
}
ARGUMENT = re.compile(
    "the function has no argument '(sinks|softcap)', and nothing else can say it"
    "|it has no argument '(query|key|value)_scale'"
)
NOT_CHECKED = re.compile("graded only under input_checks=strict|the valid counterpart .* did not pass")


def stepwise(query, key, value, mask, scale):
    """Store every step in the dtype of the query: of all that is right, what rounds the most."""
    dtype = query.dtype
    wide = np.float64 if dtype == np.float64 else np.float32

    def stored(array):
        return array.astype(dtype).astype(wide)

    with np.errstate(all="ignore"):
        query, key, value = (array.astype(wide) for array in (query, key, value))
        logits = stored(stored(query @ key.swapaxes(-1, -2)) * wide(scale))
        if mask is not None:
            added = np.where(mask, 0, -np.inf) if mask.dtype == np.bool_ else mask
            logits = stored(logits + added.astype(wide))
        exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
        weights = stored(exponentials / exponentials.sum(axis=-1, keepdims=True))
        return (weights @ value).astype(dtype)


def without_scale(query, key, value, mask):
    """Split its own scale over query and key, which rounds both."""
    part = query.dtype.type(query.shape[-1] ** -0.25)
    return stepwise(query * part, key * part, value, mask, 1)


def grouped(query, key, value, mask, scale, is_causal=False):
    """Take shared heads as they are, and its own causality from the last key."""
    shared = query.shape[1] // max(key.shape[1], 1)
    if is_causal:
        mask = np.tri(*query.shape[2:3], key.shape[2], key.shape[2] - query.shape[2], dtype=np.bool_)
    return stepwise(query, key.repeat(shared, axis=1), value.repeat(shared, axis=1), mask, scale)


WAYS = {
    "both": (plain_attention(stepwise), None),
    "float": (plain_attention(stepwise, masks="float"), None),
    "boolean": (plain_attention(stepwise, masks="boolean"), "the function takes no float mask"),
    "grouped": (plain_attention(grouped, grouped_heads=True, causal_alignment="bottom_right"), None),
    "without_scale": (plain_attention(without_scale), "the function has no scale, and a scale of"),
    "widened": (plain_attention(stepwise, widened=("float16", "bfloat16")), None),
}


def check(way, **selected):
    function, lacking = WAYS[way]
    conventions = CONVENTIONS | ({"half_precision_grade": "fused"} if way == "widened" else {})
    holder = SimpleNamespace(scaled_dot_product_attention=function, dtypes=DTYPES, conventions=conventions)
    report = attnspec.validate(holder, probes=False, **selected)
    results = [result for result in report.results if result.case.operation == "scaled_dot_product_attention"]
    assert [(result.case.id, result.dtype, result.verdict.message) for result in results if result.is_wrong] == []
    assert {result.dtype for result in results if result.status == "pass"} == set(DTYPES)
    for result in results:
        if result.status == "unsupported":
            message = result.verdict.message
            assert ARGUMENT.search(message) or NOT_CHECKED.search(message) or (lacking and lacking in message)


@pytest.mark.parametrize("way", WAYS)
def test_folding_makes_nothing_wrong(way):
    check(way, profile=["alibi", "cache"])


@pytest.mark.proof
@pytest.mark.parametrize("way", WAYS)
def test_folding_makes_nothing_wrong_in_any_case(way):
    check(way)


def tokens(*, heads=2, shared=2, queries=3, keys=3, dtype="float32"):
    random = np.random.default_rng(0)
    shapes = (1, heads, queries, 4), (1, shared, keys, 4), (1, shared, keys, 4)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


class Spy:
    """A plain attention that keeps what it was called with."""

    def __init__(self):
        self.given = {}

    def attend(self, query, key, value, mask=None, scale=None, is_causal=None):
        self.given = {name: argument for name, argument in locals().items() if name != "self"}
        return np.ones((*query.shape[:3], value.shape[-1]), query.dtype)


@pytest.fixture
def spy():
    return Spy()


def test_what_is_not_stated_is_not_given(spy):
    plain_attention(spy.attend)(*tokens())
    assert [spy.given[name] for name in ("mask", "scale", "is_causal")] == [None, None, None]


def test_an_argument_without_a_default_is_always_given():
    given = []

    def attend(query, key, value, mask, scale, is_causal):
        given.append((mask, scale, is_causal))
        return query

    plain_attention(attend)(*tokens())
    assert given == [(None, 0.5, False)]


@pytest.mark.parametrize(
    ("alignment", "changes", "own"),
    [
        ("top_left", {}, True),
        ("bottom_right", {}, False),
        ("top_left", {"window": [1, 1]}, False),
        ("top_left", {"mask": np.ones((3, 5), np.bool_)}, False),
        ("top_left", {"alibi_slopes": np.ones(2, np.float32)}, False),
        ("top_left", {"key_lengths": np.array([4])}, False),
    ],
)
def test_its_own_causality_is_used_where_it_says_everything(spy, alignment, changes, own):
    attention = plain_attention(spy.attend)
    attention(*tokens(keys=5), is_causal=True, causal_alignment=alignment, **changes)
    assert (spy.given["is_causal"], spy.given["mask"] is None) == ((True, True) if own else (None, False))


def test_a_past_moves_the_queries_and_is_folded(spy):
    query, key, value = tokens()
    plain_attention(spy.attend)(query, key, value, past_key=key[:, :, :2], past_value=value[:, :, :2], is_causal=True)
    np.testing.assert_array_equal(spy.given["mask"][0, 0], np.tri(3, 5, 2, dtype=np.bool_))
    np.testing.assert_array_equal(spy.given["key"], np.concatenate([key[:, :, :2], key], axis=2))


def test_all_exclusions_and_biases_come_in_one_mask(spy):
    slopes, mask = np.array([0.5, 2], np.float32), np.array([[8, -np.inf, 8]], np.float32)
    plain_attention(spy.attend)(*tokens(), mask=mask, alibi_slopes=slopes, window=[1, 1])
    excluded = -np.inf
    np.testing.assert_array_equal(
        spy.given["mask"],
        [
            [
                [[8, excluded, excluded], [7.5, excluded, 7.5], [excluded, excluded, 8]],
                [[8, excluded, excluded], [6, excluded, 6], [excluded, excluded, 8]],
            ]
        ],
    )
    assert spy.given["mask"].dtype == np.float32


def test_rows_beyond_their_length_attend_to_everything_and_are_cleared(spy):
    got = plain_attention(spy.attend)(*tokens(), key_lengths=np.array([0]), query_lengths=np.array([2]))
    np.testing.assert_array_equal(spy.given["mask"][0, 0], [[False] * 3, [False] * 3, [True] * 3])
    np.testing.assert_array_equal(got["output"][0, :, :, 0], [[1, 1, 0], [1, 1, 0]])


def test_shared_heads_are_repeated_unless_the_function_takes_them(spy):
    query, key, value = tokens(heads=4)
    plain_attention(spy.attend)(query, key, value)
    np.testing.assert_array_equal(spy.given["key"], key[:, [0, 0, 1, 1]])
    plain_attention(spy.attend, grouped_heads=True)(query, key, value)
    assert spy.given["value"] is value


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_dtype_that_it_does_not_have_is_widened_and_rounded_once(spy, dtype):
    slopes = np.array([0.1, 0.3]).astype(dtype)
    got = plain_attention(spy.attend, widened=(np.dtype(dtype).name,))(*tokens(dtype=dtype), alibi_slopes=slopes)
    assert {spy.given[name].dtype for name in ("query", "key", "value", "mask")} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(spy.given["mask"][0, :, 0, 2], -2 * slopes.astype(np.float32))
    assert got["output"].dtype == dtype


def test_a_wrong_dtype_is_left_for_the_harness_to_see():
    attention = plain_attention(lambda query, _key, _value: query.astype(np.float64))
    assert attention(*tokens()).dtype == np.float64


@pytest.mark.parametrize(("scale", "factor"), [(0.5, 1), (1.0, 2), (-0.25, -0.5), (0.0, 0)])
def test_a_scale_goes_into_the_query_where_it_rounds_nothing(scale, factor):
    query, key, value = tokens()
    got = plain_attention(lambda query, _key, _value: query)(query, key, value, scale=scale)
    np.testing.assert_array_equal(got, query * np.float32(factor))


@pytest.mark.parametrize(
    ("attend", "ways", "dtype", "stated", "reason"),
    [
        (lambda query, _key, _value: query, {}, "float32", {"scale": 0.3}, "a scale of 0.3 would round the query"),
        (lambda query, _key, _value: query, {}, "float16", {"scale": 2.0**20}, "would round the query"),
        (lambda query, _key, _value: query, {}, "float32", {"softcap": 2.0}, "no argument 'softcap'"),
        (lambda query, _key, _value: query, {}, "float32", {"sinks": np.ones(2)}, "no argument 'sinks'"),
        (lambda query, _key, _value: query, {}, "float32", {"window": [0, 0]}, "no argument 'mask'"),
        (stepwise, {"masks": "boolean"}, "float32", {"alibi_slopes": np.ones(2, np.float32)}, "takes no float mask"),
        (
            stepwise,
            {},
            "float16",
            {"mask": np.full((3, 3), -65504.0), "alibi_slopes": np.full(2, 32.0, np.float16)},
            "more than float16 holds",
        ),
    ],
)
def test_what_cannot_be_folded_is_unsupported(attend, ways, dtype, stated, reason):
    with pytest.raises(Unsupported) as caught:
        plain_attention(attend, **ways)(*tokens(dtype=dtype), **stated)
    assert reason in caught.value.reason


def test_a_softcap_of_zero_is_none(spy):
    assert plain_attention(spy.attend)(*tokens(), softcap=0.0).shape == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ({"mask": np.ones((3, 1), np.bool_)}, "one column for each key"),
        ({"key_lengths": np.array([4])}, "each length must be between 0 and 3"),
        ({"past_key": np.ones((1, 2, 1, 4))}, "a past needs both its keys and its values"),
        ({"window": [-1, 0]}, "it must be"),
        ({"alibi_slopes": np.ones(3)}, "2 query heads need"),
    ],
)
def test_what_is_folded_is_checked(spy, stated, sentence):
    with pytest.raises(ValueError, match=sentence):
        plain_attention(spy.attend)(*tokens(), **stated)


def test_heads_that_cannot_be_shared_are_refused(spy):
    with pytest.raises(ValueError, match="query has 3 heads, key 2 and value 2"):
        plain_attention(spy.attend)(*tokens(heads=3))


def test_other_ranks_are_for_the_function_to_refuse_where_nothing_is_folded(spy):
    one = [array[0] for array in tokens()]
    plain_attention(spy.attend)(*one)
    assert spy.given["query"] is one[0]
    with pytest.raises(ValueError, match="all three need rank 4"):
        plain_attention(spy.attend)(*one, is_causal=True)


def test_what_it_cannot_be_given_is_named():
    def attend(query, key, value, bias): ...

    with pytest.raises(TargetError, match=r"cannot call attend\(query, key, value, bias\)"):
        plain_attention(attend)


def test_it_may_take_the_tensors_of_a_library():
    torch = pytest.importorskip("torch")
    query, key, value = tokens(dtype=ml_dtypes.bfloat16)

    def attend(query, key, value, mask):
        assert {query.dtype, mask.dtype} == {torch.bfloat16, torch.bool}
        return {"output": value.clone()}

    got = plain_attention(attend, tensors="torch")(query, key, value, is_causal=True)
    np.testing.assert_array_equal(got["output"].astype(np.float32), value.astype(np.float32))
