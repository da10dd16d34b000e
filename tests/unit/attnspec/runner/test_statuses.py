"""Whatever an implementation does gets exactly its status, on that case, and the run goes on."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.contract.implementation import Crashed, Declaration, Outputs

ROWS, SCORES = "documents/001/softmax_of_rows", "documents/001/softmax_of_scores"


class LikeATensor:
    """As a tensor of another library: NumPy reads it through __array__."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array


def right(x, axis=-1):
    return attnspec_reference.softmax(x, axis=axis)


def on_rows(misbehave):
    """A softmax that misbehaves on the 3x4 array of the first case alone."""

    def softmax(x, axis=-1):
        return misbehave(x, axis) if x.shape == (3, 4) else right(x, axis)

    return softmax


def raising(error):
    def misbehave(x, axis):
        raise error

    return misbehave


def in_place(x, axis):
    x -= x.max(axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=axis, keepdims=True)
    return x


def one_nan(x, axis):
    output = right(x, axis)
    output[1, 2] = np.nan
    return output


MISBEHAVIOUR = {
    "raises": (raising(RuntimeError("out of luck")), "error", None, "raised RuntimeError: out of luck"),
    "ends the program": (raising(SystemExit(0)), "error", None, "raised SystemExit: 0"),
    "does not offer it": (raising(attnspec.Unsupported("no such axis")), "unsupported", None, "no such axis"),
    "is not written yet": (raising(NotImplementedError("some day")), "unsupported", None, "some day"),
    "returns None": (lambda x, axis: None, "malformed", None, "softmax returned None"),
    "returns a list": (lambda x, axis: right(x, axis).tolist(), "malformed", None, "returned a list"),
    "returns complex numbers": (lambda x, axis: right(x, axis) + 0j, "malformed", None, "an array of complex128"),
    "returns too much": (lambda x, axis: (right(x, axis),) * 2, "malformed", None, "returned 2 outputs; it has 1"),
    "returns an unknown output": (
        lambda x, axis: {"output": right(x, axis), "shares": x},
        "malformed",
        None,
        "the unknown output 'shares'",
    ),
    "returns a wrong shape": (lambda x, axis: right(x, axis)[:2], "fail", "shape", "(2, 4); expected (3, 4)"),
    "returns its transpose": (lambda x, axis: right(x, axis).T, "fail", "shape", "(4, 3); expected (3, 4)"),
    "returns whole numbers": (lambda x, axis: (right(x, axis) > 0.5).astype(int), "fail", "values", "expected"),
    "returns a wrong dtype": (
        lambda x, axis: right(x, axis).astype("longdouble"),
        "fail",
        "dtype",
        "expected float64",
    ),
    "returns NaN": (one_nan, "fail", "values", "output[1, 2] is nan; expected 0.979"),
    "normalises another axis": (lambda x, axis: right(x, 0), "fail", "values", "times that"),
    "edits its input": (in_place, "fail", "inputs_unchanged", "changed its input 'x' in place"),
    "returns a tensor": (lambda x, axis: LikeATensor(right(x, axis)), "pass", None, ""),
    "returns a view of memory in another order": (lambda x, axis: np.asfortranarray(right(x, axis)), "pass", None, ""),
}


def results_of(adapter, *select, **options):
    """Results by case id, of a run in one dtype."""
    report = attnspec.validate(adapter, select=select, **options)
    assert len({result.case.id for result in report.results}) == len(report.results)
    return {result.case.id: result for result in report.results}


@pytest.mark.parametrize("kind", MISBEHAVIOUR)
def test_misbehaviour_costs_its_case_alone(kind):
    misbehave, status, check, sentence = MISBEHAVIOUR[kind]
    results = results_of(SimpleNamespace(softmax=on_rows(misbehave)), ROWS, SCORES)
    verdict = results[ROWS].verdict
    assert (verdict.status, verdict.check) == (status, check)
    assert sentence in verdict.message
    assert results[SCORES].status == "pass"
    assert results[ROWS].is_wrong == (status not in ("pass", "unsupported"))


def test_a_list_that_is_edited_costs_its_case_alone():
    """Each call gets lists of its own, so that an edit does not change the case, nor the next call."""
    import attnspec_reference

    def rotary_frequencies(**arguments):
        right = attnspec_reference.rotary_frequencies(**arguments)
        if arguments.get("short_factors") == [1.0, 1.25, 1.5]:
            arguments["short_factors"].reverse()
        return right

    select = "rotary/frequencies_longrope_*"
    results = results_of(SimpleNamespace(rotary_frequencies=rotary_frequencies), select)
    edited = {key for key, result in results.items() if result.case.attributes["short_factors"] == [1.0, 1.25, 1.5]}
    assert edited
    assert {key for key, result in results.items() if result.is_wrong} == edited
    assert {results[key].verdict.check for key in edited} == {"inputs_unchanged"}
    assert "changed its input 'short_factors' in place" in results[min(edited)].verdict.message


def test_a_double_among_singles_is_reported_the_usual_cause():
    def softmax(x, axis=-1):
        return right(x, axis) * (np.sqrt(4) / 2)

    adapter = SimpleNamespace(softmax=softmax, dtypes=("float32",))
    verdict = results_of(adapter, SCORES)[SCORES].verdict
    assert (verdict.status, verdict.check) == ("fail", "dtype")
    assert verdict.message.startswith("output is float64; expected float32")
    assert "np.sqrt(4)" in verdict.message


class RightAtFirst:
    """Right for as many calls as there are cases, then slightly or badly off: it remembers what ran before."""

    def __init__(self, calls, error):
        self.calls, self.error = calls, error

    def softmax(self, x, axis=-1):
        self.calls -= 1
        return right(x, axis) * (1 + self.error if self.calls < 0 else 1)


def test_a_second_pass_that_fails_is_not_repeatable():
    results = results_of(RightAtFirst(2, 1e-6), ROWS, SCORES)
    for result in results.values():
        assert (result.status, result.verdict.check) == ("fail", "repeatable")
        assert result.verdict.message.startswith("a second call with the same inputs, after other cases had run")
        assert "times that" in result.verdict.message
        assert result.same_bits is False


def test_a_second_pass_with_other_bits_within_the_tolerance_is_reported_and_not_failed():
    results = results_of(RightAtFirst(2, 2**-52), ROWS, SCORES)
    assert [result.status for result in results.values()] == ["pass", "pass"]
    assert [result.same_bits for result in results.values()] == [False, False]
    assert [result.same_bits for result in results_of(SimpleNamespace(softmax=right), ROWS).values()] == [True]


def test_what_goes_wrong_in_the_second_pass_keeps_its_own_status():
    class WrongLater(RightAtFirst):
        def __init__(self, misbehave):
            super().__init__(1, 0)
            self.misbehave = misbehave

        def softmax(self, x, axis=-1):
            self.calls -= 1
            return right(x, axis) if self.calls >= 0 else self.misbehave(x, axis)

    for misbehave, status, sentence in (
        (raising(RuntimeError("the cache is full")), "error", "raised RuntimeError: the cache is full"),
        (lambda x, axis: None, "malformed", "softmax returned None"),
    ):
        verdict = results_of(WrongLater(misbehave), ROWS)[ROWS].verdict
        assert (verdict.status, verdict.check) == (status, None)
        assert verdict.message.startswith("a second call with the same inputs, after other cases had run: ")
        assert sentence in verdict.message


LOST = "stress/raw_products_beyond_float16"


def averaging(second):
    """An attention whose weights are all the same; it does something else at its second call."""
    calls = []

    def attend(query, key, value, scale=None):
        calls.append(1)
        mean = value.astype(np.float64).mean(axis=-2, keepdims=True)
        output = np.broadcast_to(mean, (*query.shape[:-1], value.shape[-1])).astype(query.dtype)
        return second(output) if len(calls) == 2 else output

    return attention(attend, dtypes=("bfloat16",))


def test_where_no_element_is_graded_nothing_is_established():
    (result,) = results_of(averaging(lambda output: output), LOST).values()
    assert (result.status, result.same_bits) == ("ungraded", True)
    assert not result.is_wrong
    assert not result.establishes
    (result,) = results_of(averaging(lambda output: output / np.asarray(2, output.dtype)), LOST).values()
    assert (result.status, result.same_bits) == ("ungraded", False)


def test_the_second_pass_is_called_and_counted_all_the_same():
    (result,) = results_of(averaging(lambda output: output * np.asarray(np.nan, output.dtype)), LOST).values()
    assert (result.status, result.verdict.check) == ("fail", "repeatable")


class EndsOnce:
    """A program that ends at one call, and then cannot be started again."""

    declaration = Declaration("ends once", None, "ends once", ("softmax",))

    def __init__(self, ends_at):
        self.calls, self.ends_at = 0, ends_at

    def run(self, request):
        self.calls += 1
        if self.calls < self.ends_at:
            return Outputs({"output": right(request.inputs["x"], request.attributes.get("axis", -1))})
        return Crashed("it ended", was_requested=self.calls == self.ends_at)

    def close(self):
        pass


def test_a_crash_is_reported_where_it_happened_and_what_passed_before_stays_passed():
    first_pass = results_of(EndsOnce(2), ROWS, SCORES)
    assert [result.status for result in first_pass.values()] == ["pass", "crash"]
    second_pass = results_of(EndsOnce(3), ROWS, SCORES)
    assert [result.status for result in second_pass.values()] == ["pass", "crash"]
    assert second_pass[SCORES].verdict.message.endswith("after other cases had run: it ended")
    assert second_pass[ROWS].same_bits is None


def test_the_second_pass_runs_in_the_opposite_order():
    called = []

    def softmax(x, axis=-1):
        called.append(x.shape)
        return right(x, axis)

    results_of(SimpleNamespace(softmax=softmax), ROWS, SCORES)
    assert called == [(3, 4), (3, 3), (3, 3), (3, 4)]


def test_the_second_pass_asks_one_dtype_after_the_other():
    called = []

    def softmax(x, axis=-1):
        called.append((x.shape, x.dtype.name))
        return right(x, axis)

    attnspec.validate(SimpleNamespace(softmax=softmax, dtypes=("float64", "float32")), select=[ROWS, SCORES])
    rows, scores = (3, 4), (3, 3)
    assert called[:4] == [(rows, "float64"), (rows, "float32"), (scores, "float64"), (scores, "float32")]
    assert called[4:] == [(scores, "float32"), (rows, "float32"), (scores, "float64"), (rows, "float64")]


def test_a_workspace_that_each_dtype_makes_anew_is_found_where_it_shows_a_former_call():
    workspace = np.zeros(0)

    def attend(**arguments):
        nonlocal workspace
        right_one = reference_attention(**arguments)
        weights = right_one.weights
        if workspace.dtype != weights.dtype or workspace.size < weights.size:
            workspace = np.zeros(weights.size, weights.dtype)
        shown = workspace[: weights.size].reshape(weights.shape)
        np.copyto(shown, weights, where=weights > 0)
        return {"output": right_one.output, "weights": shown.copy()}

    select = ["causal/top_steps", "window/steps"]
    report = attnspec.validate(attention(attend, dtypes=("float64", "float32")), select=select)
    assert [(result.status, result.verdict.check) for result in report.results if result.is_wrong] == [
        ("fail", "repeatable")
    ] * 2


def test_a_cache_by_shape_alone_is_found():
    class Cache:
        def __init__(self):
            self.known = {}

        def combine_heads(self, x):
            return self.known.setdefault(x.shape, attnspec_reference.combine_heads(x))

    report = attnspec.validate(Cache(), profile="documents")
    assert report.summary.counts["fail"] > 0


def test_random_weights_must_be_the_same_for_the_same_seed():
    def glorot_normal(fan_in, fan_out, seed):
        return np.random.default_rng().normal(0, np.sqrt(2 / (fan_in + fan_out)), (fan_in, fan_out))

    case = "documents/002/glorot_normal_seed_42"
    verdict = results_of(SimpleNamespace(glorot_normal=glorot_normal), case)[case].verdict
    assert (verdict.status, verdict.check) == ("fail", "repeatable")
    assert "other numbers for the same seed" in verdict.message
    assert results_of("reference", case)[case].status == "pass"


ATTENTION = "scaled_dot_product_attention"
REFUSALS = "documents/002/refuses_*"
NARROW = "documents/002/refuses_key_narrower_than_query"


def attention(function, **attributes):
    return SimpleNamespace(scaled_dot_product_attention=function, **attributes)


def reference_attention(**arguments):
    return attnspec_reference.scaled_dot_product_attention(**arguments)


def refuse_everything(**arguments):
    raise ValueError("no")


def accept_everything(**arguments):
    try:
        return reference_attention(**arguments)
    except ValueError:
        return np.zeros(arguments["query"].shape)


def test_who_refuses_everything_refuses_nothing():
    results = results_of(attention(refuse_everything), "documents/002/*")
    refusals = [result for result in results.values() if result.case.rejects and result.case.operation == ATTENTION]
    assert len(refusals) >= 5
    for result in refusals:
        assert result.status == "unsupported" if result.case.rejects.convention is None else result.status != "pass"
    narrow = results[NARROW].verdict
    assert "valid counterpart documents/002/attention_unmasked did not pass" in narrow.message
    assert results["documents/002/attention_unmasked"].status == "error"


def test_who_accepts_everything_fails_every_refusal():
    results = results_of(attention(accept_everything), REFUSALS)
    refused_by_all = [
        result for result in results.values() if result.case.rejects and result.case.rejects.convention is None
    ]
    assert len(refused_by_all) >= 2
    for result in refused_by_all:
        assert (result.status, result.verdict.check) == ("fail", "rejects")
        assert result.verdict.message == f"accepted what it must refuse: {result.case.rejects.reason}"


def test_a_refusal_counts_when_its_counterpart_passes_even_if_that_was_not_selected():
    results = results_of(attention(reference_attention), NARROW)
    assert list(results) == [NARROW]
    assert results[NARROW].status == "pass"
    assert results[NARROW].verdict.message.startswith("refused: ValueError: ")
    unselected = results_of(attention(refuse_everything), NARROW)
    assert unselected[NARROW].status == "unsupported"


def test_refusals_alone_conform_only_beside_their_counterparts():
    assert attnspec.validate(attention(reference_attention), select=NARROW).conforms
    assert not attnspec.validate(attention(refuse_everything), select=NARROW).conforms


def test_to_decline_is_not_to_refuse():
    def declining(**arguments):
        if arguments["query"].shape[-1] != arguments["key"].shape[-1]:
            raise attnspec.Unsupported("widths")
        return reference_attention(**arguments)

    assert results_of(attention(declining), NARROW)[NARROW].status == "unsupported"


def test_fail_fast_stops_at_the_first_wrong_result():
    def softmax(x, axis=-1):
        return one_nan(x, axis) if x.shape == (3, 3) else right(x, axis)

    adapter = SimpleNamespace(softmax=softmax)
    everything = attnspec.validate(adapter, select="documents/001/softmax_*")
    first_wrong = [result.is_wrong for result in everything.results].index(True)
    stopped = attnspec.validate(adapter, select="documents/001/softmax_*", fail_fast=True)
    assert 0 < first_wrong < len(everything.results) - 1
    assert [result.case.id for result in stopped.results] == [
        result.case.id for result in everything.results[: first_wrong + 1]
    ]
    assert not stopped.conforms


def test_fail_fast_without_anything_wrong_runs_everything():
    report = attnspec.validate("reference", select="documents/001/*", fail_fast=True)
    assert report.conforms
    assert len(report.results) == len(attnspec.validate("reference", select="documents/001/*").results)


def test_cases_without_floats_run_once_whatever_the_dtypes():
    for dtypes in (None, ("float32",), ("float64", "float32", "float16")):
        report = attnspec.validate("reference", select="documents/002/causal_mask_*", dtypes=dtypes)
        assert {result.dtype for result in report.results} == {"any"}
        assert len(report.results) == len({result.case.id for result in report.results})


def test_dtypes_are_those_that_are_requested_else_those_that_are_declared():
    def dtypes_run(adapter, dtypes=None):
        report = attnspec.validate(adapter, select=SCORES, dtypes=dtypes)
        return {result.dtype: result.status for result in report.results}

    single = SimpleNamespace(softmax=right, dtypes=("float32", "float16"))
    assert dtypes_run(single) == {"float32": "pass", "float16": "pass"}
    assert dtypes_run(single, "float16") == {"float16": "pass"}
    assert dtypes_run(single, ("float64", "float32")) == {"float64": "unsupported", "float32": "pass"}
    assert dtypes_run(SimpleNamespace(softmax=right)) == {"float64": "pass"}


def test_operations_that_are_not_offered_are_unsupported():
    report = attnspec.validate(SimpleNamespace(softmax=right), select="documents/001/*")
    assert {result.case.operation for result in report.results if result.status == "pass"} == {"softmax"}
    others = [result for result in report.results if result.case.operation != "softmax"]
    assert others
    assert all(result.status == "unsupported" for result in others)
    assert all(result.verdict.message == f"{result.case.operation} is not offered" for result in others)
    assert report.summary.conformance == "conforms in part"
    assert report.conforms


def test_a_run_that_graded_nothing_is_neither_right_nor_wrong():
    report = attnspec.validate(SimpleNamespace(softmax=raising(attnspec.Unsupported())), select=ROWS)
    assert report.summary.conformance == "nothing graded"
    assert not report.wrong
    assert not report.conforms


def test_inputs_are_fresh_and_writable_and_of_the_runs_dtype():
    seen = []

    def softmax(x, axis=-1):
        seen.append((x.dtype.name, x.flags.writeable, float(x.flat[0])))
        output = right(x, axis)
        x[:] = -1
        return output

    attnspec.validate(SimpleNamespace(softmax=softmax, dtypes=("float64", "float32")), select=SCORES)
    assert set(seen) == {("float64", True, 2.0), ("float32", True, 2.0)}
