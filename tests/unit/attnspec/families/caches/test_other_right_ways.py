"""Caches that are written in other ways that are right: in place, in the order of the text, a step a call."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec_reference
from attnspec.cases import load_suite
from attnspec.families.caches.window_order import in_order_of_text
from attnspec.runner import run_suite
from attnspec.targets import load

SUITE = load_suite(profiles=["caches"])
WRITTEN = {
    "scatter_cache": {"cache": "present"},
    "write_slots": {"key_pool": "present_key", "value_pool": "present_value"},
    "write_paged_cache": {"key_pool": "present_key", "value_pool": "present_value"},
    "write_window": {"key_cache": "present_key", "value_cache": "present_value"},
}


def results(holder, **conventions):
    holder = SimpleNamespace(**{"dtypes": ("float64", "bfloat16"), "conventions": conventions, **holder})
    found = run_suite(SUITE, load(holder))
    offered = [name for name in vars(holder) if name in attnspec_reference.__all__]
    return [result for result in found if result.case.operation in offered]


def in_place(operation):
    def written(**arguments):
        outputs = getattr(attnspec_reference, operation)(**arguments)._asdict()
        for cache, output in WRITTEN[operation].items():
            arguments[cache][...] = outputs[output]
            outputs[output] = arguments[cache]
        return outputs

    return written


@pytest.mark.parametrize("operation", WRITTEN)
def test_a_cache_may_be_written_in_place_where_that_is_declared(operation):
    holder = {operation: in_place(operation)}
    declared = results(holder, cache_written="in_place")
    assert declared
    assert {result.status for result in declared} == {"pass"}
    wrong = [result for result in results(holder) if result.status == "fail"]
    assert {result.verdict.check for result in wrong} == {"inputs_unchanged"}
    assert all("unless cache_written=in_place is declared" in result.verdict.message for result in wrong)


def test_tokens_stay_the_callers_where_the_cache_is_written_in_place():
    def cleared(**arguments):
        outputs = in_place("scatter_cache")(**arguments)
        arguments["update"][...] = 0
        return outputs

    checks = {result.verdict.check for result in results({"scatter_cache": cleared}, cache_written="in_place")}
    assert "inputs_unchanged" in checks


def moved(key_cache, value_cache, key, value, past_lengths, *, keep=0):
    """Append, and drop the oldest tokens that are not kept."""
    present = []
    for cache, new in ((key_cache, key), (value_cache, value)):
        window, length = cache.copy(), cache.shape[2]
        for entry, past in enumerate(past_lengths.tolist()):
            tokens = np.concatenate([cache[entry, :, : min(past, length)], new[entry]], axis=1)
            surplus = max(tokens.shape[1] - length, 0)
            tokens = np.delete(tokens, range(keep, keep + surplus), axis=1)
            window[entry, :, : tokens.shape[1]] = tokens
        present.append(window)
    return tuple(present)


def test_a_window_may_be_in_the_order_of_the_text_where_that_is_declared():
    declared = results({"write_window": moved}, window_order="temporal", input_checks="none")
    assert {result.status for result in declared if result.case.rejects is None} == {"pass"}
    wrong = [result for result in results({"write_window": moved}, input_checks="none") if result.status == "fail"]
    assert len(wrong) > 20


def test_the_order_of_the_text_begins_behind_what_is_kept():
    # Tokens 0, 4, 5 and 3, of which the first is kept: the oldest of the others is 3.
    ring = np.array([0.0, 4.0, 5.0, 3.0]).reshape(1, 1, 4, 1)
    assert in_order_of_text(ring, np.array([6]), 1).ravel().tolist() == [0, 3, 4, 5]
    assert in_order_of_text(ring, np.array([4]), 1).ravel().tolist() == [0, 4, 5, 3]


def of_steps(found):
    return {result.case.id: result for result in found if "step_lengths" in result.case.inputs}


def test_a_function_without_steps_is_called_once_for_each():
    def scatter_cache(cache, update, write_indices=None, *, axis=-2, mode="linear"):
        return attnspec_reference.scatter_cache(cache, update, write_indices, axis=axis, mode=mode).present

    found = of_steps(results({"scatter_cache": scatter_cache, "write_window": moved}, window_order="temporal"))
    assert len(found) > 10
    assert {result.status for result in found.values()} == {"pass"}


def test_a_cache_that_is_kept_from_call_to_call_fails_in_steps():
    def remembered(cache, update, write_indices=None, *, axis=-2, mode="linear"):
        kept = seen.get(cache.shape, cache)
        seen[cache.shape] = attnspec_reference.scatter_cache(kept, update, write_indices, axis=axis, mode=mode).present
        return seen[cache.shape]

    seen = {}
    assert "fail" in {result.status for result in of_steps(results({"scatter_cache": remembered})).values()}


def test_a_cache_that_grows_with_each_step_fails():
    def grown(cache, update, write_indices=None, *, axis=-2, mode="linear"):
        return np.concatenate([cache, update], axis)

    assert {result.status for result in of_steps(results({"scatter_cache": grown})).values()} == {"fail"}


def test_arguments_go_by_their_usual_names():
    def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, k_scale=None, v_scale=None):
        return attnspec_reference.write_slots(key_cache, value_cache, key, value, slot_mapping, k_scale, v_scale)

    assert {result.status for result in results({"write_slots": reshape_and_cache})} == {"pass"}
