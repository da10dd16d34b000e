"""Each declared alternative is graded as declared, and declaring another than one follows is a fail."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.bounds import precision_of
from attnspec.cases import load_suite
from attnspec.families.lookup import family_of

DEAD_ROW = "documents/002/attention_fully_masked_row"
DEAD_ROW_REFUSED = "documents/002/refuses_fully_masked_row"
NAN = "nonfinite/document_002_refuses_nan_in_query"
INFINITY = "nonfinite/infinity_in_value"
NAN_OF_NO_ONE = "nonfinite/future_of_everyone"
NAN_HANDED_ON = "nonfinite/present_nan_in_hidden_keys_and_values"
ATTENDED_NAN = "nonfinite/nan_in_value"
RANK = "documents/002/refuses_query_of_rank_2"
WIDTH = "documents/002/refuses_key_narrower_than_query"
TOP_LEFT = "documents/002/attention_causal_first_two_queries"
BOTTOM_RIGHT = "documents/002/attention_causal_last_two_queries"


def verdicts(function, *select, conventions=None, dtypes=("float64",), **options):
    adapter = SimpleNamespace(scaled_dot_product_attention=function, conventions=conventions or {}, dtypes=dtypes)
    report = attnspec.validate(adapter, select=select, **options)
    return {result.case.id: result.verdict for result in report.results}


def attention(**arguments):
    return attnspec_reference.scaled_dot_product_attention(**arguments)


def with_dead_rows(choice):
    """The reference, but for queries that may attend no key."""

    def attend(**arguments):
        result = attention(**arguments)._asdict()
        dead = result["logsumexp"] == -np.inf
        if choice == "refuse" and dead.any():
            raise ValueError("a query has no key")
        mean = np.broadcast_to(arguments["value"].mean(axis=-2, keepdims=True), result["output"].shape)
        other = {"zero": 0.0, "nan": np.nan, "uniform": mean, "refuse": 0.0}[choice]
        share = {"nan": np.nan, "uniform": 1 / result["weights"].shape[-1]}.get(choice, 0.0)
        return {
            "output": np.where(dead[..., None], other, result["output"]),
            "weights": np.where(dead[..., None], share, result["weights"]),
            # Not graded under an alternative, so anything may stand there.
            "logsumexp": np.where(dead, -np.inf if choice == "zero" else 7.0, result["logsumexp"]),
        }

    return attend


CHOICES = ("zero", "nan", "uniform", "refuse")


@pytest.mark.parametrize("declared", CHOICES)
@pytest.mark.parametrize("followed", CHOICES)
def test_a_query_without_keys_is_graded_as_declared(followed, declared):
    graded = verdicts(with_dead_rows(followed), DEAD_ROW, DEAD_ROW_REFUSED, conventions={"fully_masked_row": declared})
    for verdict in graded.values():
        if followed == declared:
            assert verdict.status == "pass", verdict.message
            assert verdict.under == (None if declared == "zero" else f"fully_masked_row={declared}")
        else:
            assert verdict.status in ("fail", "error")
        if followed == "refuse" != declared:
            assert verdict.status == "error"
        if declared == "refuse" != followed:
            assert verdict.check == "rejects"
            assert "declared: fully_masked_row=refuse" in verdict.message or "no key" in verdict.message


def with_filled_rows(*, query, key, value, mask=None, is_causal=False):
    """Causality and Boolean masks put the lowest number instead of a score; a float mask is added as it is."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    lowest = np.finfo(scores.dtype).min
    if mask is not None:
        scores = np.where(mask, scores, lowest) if mask.dtype == np.bool_ else scores + mask
    if is_causal:
        future = ~np.tri(*scores.shape[-2:], dtype=np.bool_)
        scores = np.where(future & (scores > -np.inf), lowest, scores)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


@pytest.mark.parametrize(
    "case", [DEAD_ROW, "masking/dead_row_float", "masking/dead_last_row", "causal/square_dead_row"]
)
def test_a_query_without_keys_may_take_the_mean_of_what_no_float_mask_excludes(case):
    graded = verdicts(with_filled_rows, case, conventions={"fully_masked_row": "filled"})
    assert graded[case].status == "pass", graded[case].message
    assert graded[case].under == "fully_masked_row=filled"
    floats = {"documents/002/attention_fully_masked_row", "masking/dead_row_float"}
    for other in ("zero", "uniform", "nan"):
        expected = "pass" if other == ("nan" if case in floats else "uniform") else "fail"
        assert verdicts(with_filled_rows, case, conventions={"fully_masked_row": other})[case].status == expected


def test_a_float_mask_leaves_the_mean_over_the_other_keys():
    """Minus infinity stands for the only key that causality leaves to the first query."""
    case = "causal/square_dead_row"
    given = load_suite(select=(case,)).cases[case]
    rows = given.inputs | {"mask": np.where(given.inputs["mask"], 0.0, -np.inf)}
    bound = family_of(given.operation).tolerance(
        given.operation, rows, given.attributes, precision_of("float64"), {"fully_masked_row": "filled"}
    )
    came = with_filled_rows(**rows, **given.attributes)
    assert np.all(np.abs(came - bound.of("output").value) <= bound.of("output").error)
    assert np.allclose(came[0, 0, 0], rows["value"][0, 0, 1:].mean(axis=0))
    assert not bound.without_mean["output"].any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_alternatives_hold_in_every_dtype(dtype):
    def followed(choice):
        def attend(**arguments):
            wide = {name: array.astype(np.float64) for name, array in arguments.items()}
            outputs = with_dead_rows(choice)(**wide)
            return outputs["output"].astype(arguments["query"].dtype)

        return attend

    for choice in ("nan", "uniform"):
        graded = verdicts(followed(choice), DEAD_ROW, conventions={"fully_masked_row": choice}, dtypes=(dtype,))
        assert graded[DEAD_ROW].status == "pass", graded[DEAD_ROW].message


def test_the_command_goes_before_the_adapter_and_the_operation_before_both_in_general():
    follows_nan = with_dead_rows("nan")
    says_uniform = {"fully_masked_row": "uniform"}
    assert verdicts(follows_nan, DEAD_ROW, conventions=says_uniform)[DEAD_ROW].status == "fail"
    adapter = SimpleNamespace(scaled_dot_product_attention=follows_nan, conventions=says_uniform)
    reported = attnspec.validate(adapter, select=DEAD_ROW, conventions={"fully_masked_row": "nan"})
    assert reported.conforms
    assert reported.conventions == {"fully_masked_row": "nan"}
    qualified = {"scaled_dot_product_attention.fully_masked_row": "nan", "fully_masked_row": "uniform"}
    assert verdicts(follows_nan, DEAD_ROW, conventions=qualified)[DEAD_ROW].status == "pass"
    elsewhere = {"softmax.fully_masked_row": "nan"}
    assert verdicts(follows_nan, DEAD_ROW, conventions=elsewhere)[DEAD_ROW].status == "fail"


def refusing_nan(**arguments):
    if any(np.isnan(array).any() for array in arguments.values() if isinstance(array, np.ndarray)):
        raise ValueError("NaN")
    return attention(**arguments)


def suppressing_nan(**arguments):
    arguments["query"] = np.nan_to_num(arguments["query"])
    return attention(**arguments)


@pytest.mark.parametrize(
    ("function", "declared", "status", "check", "under"),
    [
        (attention, "propagates", "pass", None, None),
        (suppressing_nan, "propagates", "fail", "values", None),
        (refusing_nan, "propagates", "error", None, None),
        (refusing_nan, "refuse", "pass", None, "nonfinite_input=refuse"),
        (attention, "refuse", "fail", "rejects", "nonfinite_input=refuse"),
        (suppressing_nan, "refuse", "fail", "rejects", "nonfinite_input=refuse"),
    ],
)
def test_nan_in_the_inputs_is_graded_as_declared(function, declared, status, check, under):
    verdict = verdicts(function, NAN, conventions={"nonfinite_input": declared})[NAN]
    assert (verdict.status, verdict.check, verdict.under) == (status, check, under)


@pytest.mark.parametrize("case_id", [INFINITY, NAN_OF_NO_ONE, NAN_HANDED_ON])
def test_where_no_nan_of_an_input_reaches_a_result_to_refuse_is_open(case_id):
    for function in (attention, refusing_nan, refusing_what_is_not_finite):
        verdict = verdicts(function, case_id, conventions={"nonfinite_input": "refuse"})[case_id]
        assert verdict.status == "unsupported", verdict.message
    assert verdicts(attention, ATTENDED_NAN, conventions={"nonfinite_input": "refuse"})[ATTENDED_NAN].check == "rejects"


def refusing_what_is_not_finite(**arguments):
    if any(not np.isfinite(array).all() for array in arguments.values() if isinstance(array, np.ndarray)):
        raise ValueError("not finite")
    return attention(**arguments)


def lenient(**arguments):
    if arguments["query"].ndim == 2:
        return np.zeros((2, 1, 4, 8))
    return attention(**arguments)


def test_checks_of_rank_are_graded_only_where_they_are_declared():
    assert verdicts(attention, RANK)[RANK].status == "pass"
    assert verdicts(lenient, RANK)[RANK].check == "rejects"
    for function in (attention, lenient):
        graded = verdicts(function, RANK, WIDTH, conventions={"input_checks": "lenient"})
        assert graded[RANK].status == "unsupported"
        assert "graded only under input_checks=strict; declared is lenient" in graded[RANK].message
        assert graded[WIDTH].status == "pass"


def one_way(alignment):
    """An attention without the argument causal_alignment, which aligns causal queries one way only."""

    def attend(query, key, value, mask=None, is_causal=False, scale=None):
        return attention(
            query=query, key=key, value=value, mask=mask, is_causal=is_causal, scale=scale, causal_alignment=alignment
        )

    return attend


@pytest.mark.parametrize(
    ("followed", "declared", "top_left", "bottom_right"),
    [
        ("top_left", "top_left", "pass", "unsupported"),
        ("bottom_right", "bottom_right", "unsupported", "pass"),
        ("bottom_right", "top_left", "fail", "unsupported"),
        ("top_left", "bottom_right", "unsupported", "fail"),
        ("top_left", "any", "pass", "unsupported"),
        ("bottom_right", "any", "fail", "unsupported"),
    ],
)
def test_an_attention_with_one_alignment_is_graded_on_the_cases_that_match(followed, declared, top_left, bottom_right):
    graded = verdicts(one_way(followed), TOP_LEFT, BOTTOM_RIGHT, conventions={"causal_alignment": declared})
    assert graded[TOP_LEFT].status == top_left
    assert graded[BOTTOM_RIGHT].status == bottom_right
    if declared != "any":
        declined = graded[BOTTOM_RIGHT if declared == "top_left" else TOP_LEFT]
        assert f"is not offered; it has {declared} alone" in declined.message


def computed_in_float32(**arguments):
    single = {
        name: value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value
        for name, value in arguments.items()
    }
    return attention(**single).output.astype(np.float64)


def test_float64_computed_in_float32_passes_where_it_is_declared():
    case = "documents/002/attention_unmasked"
    assert verdicts(computed_in_float32, case)[case].check == "values"
    assert verdicts(computed_in_float32, case, conventions={"accumulation": "float32"})[case].status == "pass"


def stored_in_half(query, key, value):
    """Half precision between the steps, sums in float32."""
    scale = np.float32(1 / np.sqrt(query.shape[-1]))
    product = query.astype(np.float32) @ np.swapaxes(key.astype(np.float32), -1, -2)
    scores = (product * scale).astype(query.dtype).astype(np.float32)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(query.dtype).astype(np.float32)
    return (weights @ value.astype(np.float32)).astype(query.dtype), weights.astype(query.dtype)


def test_half_precision_between_the_steps_passes_unfused_and_fails_fused():
    cases = ("documents/002/attention_unmasked", "documents/002/attention_unmasked_other_values")
    unfused = verdicts(stored_in_half, *cases, dtypes=("bfloat16",))
    fused = verdicts(stored_in_half, *cases, dtypes=("bfloat16",), conventions={"half_precision_grade": "fused"})
    assert {verdict.status for verdict in unfused.values()} == {"pass"}
    assert "fail" in {verdict.status for verdict in fused.values()}


RAW_PRODUCTS = "stress/raw_products_beyond_float16"


def scaled_after_storing(query, key, value, scale=None):
    """A chain of calls in half precision: the product is stored before it is scaled."""
    product = (query.astype(np.float32) @ np.swapaxes(key.astype(np.float32), -1, -2)).astype(query.dtype)
    scores = (product * query.dtype.type(1 / np.sqrt(query.shape[-1]) if scale is None else scale)).astype(np.float32)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(query.dtype).astype(np.float32)
    return (weights @ value.astype(np.float32)).astype(query.dtype)


def test_products_that_overflow_between_the_steps_fail_unless_it_is_declared():
    (overflowed,) = verdicts(scaled_after_storing, RAW_PRODUCTS, dtypes=("float16",)).values()
    assert (overflowed.status, overflowed.check) == ("fail", "values")
    assert "is nan; expected" in overflowed.message
    declared = {"half_precision_overflow": "open"}
    (left_open,) = verdicts(scaled_after_storing, RAW_PRODUCTS, dtypes=("float16",), conventions=declared).values()
    assert (left_open.status, left_open.under) == ("ungraded", "half_precision_overflow=open")
    assert (left_open.graded, left_open.ungraded) == (0, 12)


def scaled_first(query, key, value, scale):
    """A chain of calls in half precision: the query is scaled, and stored, before it meets the keys."""
    scaled = query * query.dtype.type(scale)
    scores = (scaled.astype(np.float32) @ np.swapaxes(key.astype(np.float32), -1, -2)).astype(query.dtype)
    exponentials = np.exp(scores.astype(np.float32) - scores.max(axis=-1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=-1, keepdims=True)).astype(query.dtype).astype(np.float32)
    return (weights @ value.astype(np.float32)).astype(query.dtype)


def test_scaled_queries_that_overflow_fail_unless_it_is_declared():
    case = "stress/scaled_queries_beyond_float16_by_2"
    (overflowed,) = verdicts(scaled_first, case, dtypes=("float16",)).values()
    assert (overflowed.status, overflowed.check) == ("fail", "values")
    declared = {"half_precision_overflow": "open"}
    (left_open,) = verdicts(scaled_first, case, dtypes=("float16",), conventions=declared).values()
    assert left_open.under == "half_precision_overflow=open"
    (narrow,) = verdicts(scaled_first, case, dtypes=("float32",), conventions=declared).values()
    assert (narrow.status, narrow.under) == ("pass", None)


def test_declared_overflow_leaves_nothing_open_where_the_dtype_reaches_further():
    declared = {"half_precision_overflow": "open"}
    for dtype in ("bfloat16", "float32"):
        (wide,) = verdicts(scaled_after_storing, RAW_PRODUCTS, dtypes=(dtype,), conventions=declared).values()
        assert (wide.status in ("pass", "ungraded"), wide.under) == (True, None)
    fused = declared | {"half_precision_grade": "fused"}
    (verdict,) = verdicts(scaled_after_storing, RAW_PRODUCTS, dtypes=("float16",), conventions=fused).values()
    assert (verdict.status, verdict.under) == ("fail", None)


@pytest.mark.parametrize(
    ("conventions", "sentence"),
    [
        ({"dead_row": "nan"}, "The command declares the unknown convention 'dead_row'"),
        ({"fully_masked_row": "none"}, "The command declares fully_masked_row='none'; the choices for"),
        ({"attention.fully_masked_row": "nan"}, "there is no operation 'attention'"),
    ],
)
def test_an_unknown_convention_is_said_in_a_sentence(conventions, sentence):
    with pytest.raises(attnspec.AttnspecError) as caught:
        attnspec.validate("reference", conventions=conventions)
    assert sentence in str(caught.value)
