"""Steps of a decoder: they give what one pass gives, or the run fails with a sentence on where they do not."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from attnspec.cases import load_suite, read_index
from attnspec.cases.reading import check_file
from attnspec.contract import CALLED_IN_STEPS, OPERATIONS
from attnspec.contract.implementation import Declined, Outputs, Raised, Wrapped
from attnspec.gate.decision import Demands, judge
from attnspec.gate.updating import updated_baseline
from attnspec.process.opening import open_target
from attnspec.reports.formats import print_report, write_report
from attnspec.runner import Resolved, run_suite
from attnspec.runner.invariance import invariance_failures, measured_invariance
from attnspec.specification import clauses
from attnspec.targets.target import Target
from attnspec.validation import make_report

SDPA = "scaled_dot_product_attention"
CASE = "cache/six_tokens_at_once"


@cache
def suite(*select):
    return load_suite(select=select)


def steps_of(target, *select, dtypes=("float64",)):
    """Return the results of a target, and what was measured of its steps."""
    results = run_suite(suite(*select), target, dtypes=dtypes)
    found = measured_invariance(results, Resolved(target.declaration.conventions))
    return results, [each for each in found if each.of == "state"]


class Decoder(Wrapped):
    """The reference, of which some calls go otherwise; `changed` takes a request and gives its answer."""

    def __init__(self, changed):
        super().__init__(open_target(Target("reference"), dtypes=("float64", "float32")))
        self._changed = changed

    def run(self, request):
        return self._changed(request, super().run)


def without_past(request, run):
    kept = {name: array for name, array in request.inputs.items() if not name.startswith("past_")}
    return run(request._replace(inputs=kept))


def counted_from_0(request, run):
    """A step whose queries stand at the first keys: its mask lets query i see keys up to i."""
    inputs = request.inputs
    if "past_key" not in inputs:
        return run(request)
    queries, keys = inputs["query"].shape[2], inputs["past_key"].shape[2] + inputs["key"].shape[2]
    allowed = np.tril(np.ones((queries, keys), bool))
    return run(request._replace(inputs={**inputs, "mask": allowed}))


def present_without_the_newest(request, run):
    answer = run(request)
    values = {name: array[:, :, :-1] if name.startswith("present") else array for name, array in answer.values.items()}
    return answer._replace(values=values)


def present_of_the_new_alone(request, run):
    answer = run(request)
    new = {f"present_{name}": request.inputs[name] for name in ("key", "value")}
    return answer._replace(values={**answer.values, **new})


def present_of_fewer_digits(request, run):
    answer = run(request)
    rounded = {name: np.round(array) if name.startswith("present") else array for name, array in answer.values.items()}
    return answer._replace(values=rounded)


def past_dropped_in_a_second_step(request, run):
    """A decoder whose cache has room for one step: a past that is longer than the prefill is forgotten."""
    past = request.inputs.get("past_key")
    return without_past(request, run) if past is not None and past.shape[2] > 3 else run(request)


def reading_beyond(request, run):
    """A buffer that is read one token further than its length."""
    inputs = request.inputs
    if "key_lengths" not in inputs:
        return run(request)
    further = np.minimum(inputs["key_lengths"] + 1, inputs["key"].shape[2])
    attributes = {**request.attributes, "is_causal": False}
    return run(request._replace(inputs={**inputs, "key_lengths": further}, attributes=attributes))


def poisoned(request, run):
    """Values behind the length that are multiplied by 0, and added."""
    answer, inputs = run(request), request.inputs
    if "key_lengths" not in inputs:
        return answer
    output = answer.values["output"] + 0 * inputs["value"].sum()
    return answer._replace(values={**answer.values, "output": output})


def raising(request, run):
    return Raised("IndexError: no room") if "past_key" in request.inputs else run(request)


def declining(request, run):
    beside = {"past_key", "past_latent", "key_lengths"}
    return Declined("no cache") if beside & request.inputs.keys() else run(request)


def of_output_alone(request, run):
    answer = run(request)
    return Outputs({"output": answer.values["output"]})


def test_the_reference_goes_on_as_it_began() -> None:
    results, found = steps_of(open_target(Target("reference"), dtypes=("float64",)), *CALLED_IN_STEPS)
    assert not any(result.is_wrong for result in results)
    assert {each.operation: (each.calls, each.differing) for each in found} == {
        operation: (
            sum(len(CALLED_IN_STEPS[result.case.id]) for result in results if result.case.operation == operation),
            0,
        )
        for operation in dict.fromkeys(result.case.operation for result in results)
    }
    assert {result.case.id for result in results} == CALLED_IN_STEPS.keys()
    assert {f"{OPERATIONS[each.operation].short_name}.state.steps" for each in found} <= {*clauses()}
    assert invariance_failures(found) == ()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (counted_from_0, "in steps of 3, 1 and 2 tokens behind a past: output"),
        (past_dropped_in_a_second_step, "behind a past: present_key has the shape (1, 2, 2, 3) after 6 tokens"),
        (present_without_the_newest, "behind a past: present_key has the shape (1, 2, 2, 3) after 3 tokens"),
        (present_of_the_new_alone, "behind a past: present_key has the shape (1, 2, 1, 3) after 4 tokens"),
        (present_of_fewer_digits, "behind a past: present_key does not hold the 3 tokens so far, unchanged"),
        (raising, "behind a past: raised IndexError: no room"),
        (reading_beyond, "in steps of 3, 1 and 2 tokens in a buffer with lengths: output"),
        (poisoned, "in a buffer with lengths: output"),
    ],
)
def test_a_decoder_that_is_wrong_in_steps_alone_fails_the_run(changed, sentence) -> None:
    results, found = steps_of(Decoder(changed), CASE)
    assert [result.verdict.status for result in results] == ["pass"]
    (failure,) = invariance_failures(found)
    assert (failure.is_wrong, failure.is_of_run, failure.case.id) == (True, True, f"state/{SDPA}")
    assert failure.clauses == ("sdpa.state.steps",)
    assert failure.verdict.message.startswith(
        f"1 of 2 cases that are called in steps do not give what one pass gives: {CASE}, in steps of "
    )
    assert sentence in failure.verdict.message


def test_who_returns_no_present_is_handed_the_earlier_tokens() -> None:
    (state,) = steps_of(Decoder(of_output_alone), CASE)[1]
    assert (state.calls, state.differing) == (2, 0)
    (state,) = steps_of(Decoder(lambda request, run: of_output_alone(request, lambda r: counted_from_0(r, run))), CASE)[
        1
    ]
    assert (state.calls, state.differing) == (2, 1)


def test_who_offers_no_cache_is_not_called_on() -> None:
    assert steps_of(Decoder(declining), CASE, "latent/naive_causal")[1] == []


def test_a_decoder_that_is_wrong_in_a_single_call_is_shown_by_that_case_alone() -> None:
    results, found = steps_of(Decoder(counted_from_0), CASE, "cache/past_causal")
    assert [result.is_wrong for result in results] == [True, False]
    assert [(each.calls, each.differing) for each in found] == [(1, 0)]


def test_steps_are_called_in_the_first_dtype_alone() -> None:
    assert [each.dtype for each in steps_of(Decoder(lambda request, run: run(request)), CASE, dtypes=None)[1]] == [
        "float64"
    ]
    assert [each.dtype for each in steps_of(Decoder(counted_from_0), CASE, dtypes=("float32",))[1]] == ["float32"]


def test_a_broken_state_is_said_in_a_report_and_known_to_a_baseline_until_it_is_gone() -> None:
    ids = read_index(suite(CASE).folder)
    broken, kept = (
        make_report(suite(CASE), target.declaration, steps_of(target, CASE)[0], conventions={})
        for target in (Decoder(present_without_the_newest), Decoder(lambda request, run: run(request)))
    )
    assert (broken.conforms, kept.conforms) == (False, True)
    file = io.StringIO()
    print_report(broken, Console(file=file, width=400))
    assert "Each call is right by itself, and a decoder that goes on from what it kept is not." in file.getvalue()
    assert "It breaks sdpa.state.steps" in file.getvalue()
    baseline = updated_baseline(None, broken, suite_ids=ids)
    assert baseline is not None
    assert [entry.case for entry in baseline.entries] == [f"state/{SDPA}"]
    assert judge(broken, baseline, Demands(), suite_ids=ids, retired={}).is_open
    found = judge(kept, baseline, Demands(), suite_ids=ids, retired={}).findings
    assert [(finding.kind, finding.subject) for finding in found] == [("passes now", f"state/{SDPA}")]


def test_a_report_with_a_broken_state_follows_its_schema(tmp_path) -> None:
    target = Decoder(present_without_the_newest)
    report = make_report(suite(CASE), target.declaration, steps_of(target, CASE)[0], conventions={})
    write_report(report, tmp_path / "report.json", load_suite())
    check_file(tmp_path / "report.json", kind="report")
