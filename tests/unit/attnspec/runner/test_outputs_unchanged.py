"""What a call returned belongs to its caller: a later call that writes over it fails, unless that was declared."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.runner import run_suite
from attnspec.targets import load

SUITE = load_suite()
CASES = [case for case in SUITE.cases.values() if case.expected is not None or case.properties is not None]
CASES.sort(key=lambda case: case.changed_argument is None)
FEW = {operation: [case.id for case in CASES if case.operation == operation][:12] for operation in OPERATIONS}
"""Some cases of each operation, those before all that are followed by a call with one argument changed."""


class LikeATensor:
    """As a tensor of another library: NumPy reads it through __array__, in its own memory."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array.copy() if copy else self._array


def arrays_of(returned):
    """The outputs as a tuple of arrays."""
    if not isinstance(returned, tuple):
        return (np.asarray(returned),)
    return tuple(None if array is None else np.asarray(array) for array in returned)


class ByShape:
    """A buffer for each dtype and shape."""

    def __init__(self):
        self.buffers = {}

    def __call__(self, array):
        buffer = self.buffers.setdefault((array.dtype.name, array.shape), np.empty_like(array))
        buffer[...] = array
        return buffer


class OneWorkspace:
    """One piece of memory for all."""

    def __init__(self):
        self.memory = np.zeros(1 << 20, dtype=np.uint8)

    def __call__(self, array):
        part = self.memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        part[...] = array
        return part


class InTurn(OneWorkspace):
    """Two pieces of memory, one after the other."""

    def __init__(self):
        super().__init__()
        self.other = np.zeros_like(self.memory)

    def __call__(self, array):
        self.memory, self.other = self.other, self.memory
        return super().__call__(array)


class Tensor(OneWorkspace):
    """One piece of memory, behind tensors of another library."""

    def __call__(self, array):
        return LikeATensor(super().__call__(array))


BUFFERS = {"by shape": ByShape, "one workspace": OneWorkspace, "behind tensors": Tensor}


def with_buffers(operation, buffer, **attributes):
    """The reference, whose first output lies in a buffer."""
    function = getattr(attnspec_reference, operation)

    def call(**arguments):
        first, *others = arrays_of(function(**arguments))
        return (buffer(first), *others)

    return SimpleNamespace(**{operation: call}, dtypes=FLOAT_DTYPES, **attributes)


def checks_of(adapter, cases, **options):
    suite = replace(SUITE, cases={case: SUITE.cases[case] for case in cases})
    graded = [result for result in run_suite(suite, load(adapter), **options) if result.status != "unsupported"]
    assert graded
    return [result.verdict.check for result in graded]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_buffer_that_is_handed_out_twice_fails(operation, kind, dtype):
    checks = checks_of(with_buffers(operation, BUFFERS[kind]()), FEW[operation], dtypes=[dtype])
    assert "outputs_unchanged" in checks
    assert set(checks) <= {"outputs_unchanged", None}


@pytest.mark.parametrize("declared", ["outputs", "{}.outputs"])
@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_passes_where_outputs_need_hold_until_the_next_call_alone(operation, kind, declared):
    conventions = {declared.format(operation): "until_next_call"}
    adapter = with_buffers(operation, BUFFERS[kind](), conventions=conventions)
    assert set(checks_of(adapter, FEW[operation])) == {None}
    buffered = with_buffers(operation, BUFFERS[kind]())
    assert set(checks_of(buffered, FEW[operation], conventions=conventions)) == {None}


def test_a_declaration_for_another_operation_does_not_help():
    conventions = {"softmax.outputs": "until_next_call"}
    adapter = with_buffers("split_heads", OneWorkspace(), conventions=conventions)
    assert "outputs_unchanged" in checks_of(adapter, FEW["split_heads"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_fresh_arrays_pass(operation):
    assert set(checks_of(with_buffers(operation, np.array), FEW[operation])) == {None}


def test_an_array_that_is_kept_and_never_changes_passes():
    known = {}

    def softmax(x, axis=-1):
        key = (x.tobytes(), x.dtype.name, x.shape, axis)
        if key not in known:
            known[key] = attnspec_reference.softmax(x, axis=axis)
        return known[key]

    cases = [case for case in SUITE.cases if case.startswith("documents/001/softmax_")]
    assert set(checks_of(SimpleNamespace(softmax=softmax, dtypes=FLOAT_DTYPES), cases)) == {None}


def test_a_view_of_the_input_passes():
    def split_heads(x, num_heads):
        return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)

    assert set(checks_of(SimpleNamespace(split_heads=split_heads), FEW["split_heads"])) == {None}


def test_two_buffers_in_turn_are_found_by_calls_of_the_same_shape():
    checks = checks_of(with_buffers("softmax", InTurn()), FEW["softmax"])
    assert "outputs_unchanged" in checks


def test_a_view_into_a_cache_fails_and_names_its_output():
    cache = np.zeros((2, 8, 64, 64))

    def attend(**arguments):
        result = attnspec_reference.scaled_dot_product_attention(**arguments)
        if any(length > limit for length, limit in zip(result.present_key.shape, cache.shape, strict=True)):
            raise NotImplementedError("more than the cache holds")
        view = cache[tuple(map(slice, result.present_key.shape))]
        view[...] = result.present_key
        return {"output": result.output, "present_key": view}

    report = attnspec.validate(SimpleNamespace(scaled_dot_product_attention=attend), profile="cache")
    assert {result.verdict.check for result in report.wrong} == {"outputs_unchanged"}
    for result in report.wrong:
        assert result.verdict.output == "present_key"
        assert result.verdict.message == (
            "'present_key', which an earlier call had returned, was overwritten; outputs belong to the caller. "
            "Return new arrays, or declare outputs=until_next_call"
        )


ROWS, SCORES = "documents/001/softmax_of_rows", "documents/001/softmax_of_scores"


def softmax_with(kept_calls):
    """A softmax that hands its buffer out at these calls, counted from 1, and new arrays at all others."""
    calls, workspace = iter(range(1, 100)), OneWorkspace()

    def softmax(x, axis=-1):
        output = attnspec_reference.softmax(x, axis=axis)
        return workspace(output) if next(calls) in kept_calls else output

    return SimpleNamespace(softmax=softmax)


@pytest.mark.parametrize(
    ("kept_calls", "failing"),
    [((1, 2), [SCORES]), ((2, 3), []), ((3, 4), [ROWS]), ((1, 3), [SCORES]), ((1, 4), []), ((1,), [])],
)
def test_both_passes_are_looked_at(kept_calls, failing):
    """Calls 3 and 4 are the second pass, and give again what calls 2 and 1 gave; the two cases have other shapes."""
    report = attnspec.validate(softmax_with(kept_calls), select=(ROWS, SCORES))
    assert [result.case.id for result in report.wrong] == failing
    assert {result.verdict.check for result in report.wrong} <= {"outputs_unchanged"}


def test_a_call_with_one_argument_changed_is_looked_at():
    case = next(case for case in CASES if case.operation == "softmax" and case.changed_argument is not None)
    report = attnspec.validate(softmax_with((3, 4)), select=case.id)
    assert [(result.case.id, result.verdict.check) for result in report.wrong] == [(case.id, "outputs_unchanged")]


def test_wrong_numbers_are_reported_before_an_output_that_was_overwritten():
    workspace = OneWorkspace()

    def softmax(x, axis=-1):
        return workspace(attnspec_reference.softmax(x, axis=axis) + 1)

    report = attnspec.validate(SimpleNamespace(softmax=softmax), select=(ROWS, SCORES))
    assert [result.verdict.check for result in report.wrong] == ["values", "values"]


def test_each_head_of_another_layout_is_a_call():
    function = attnspec_reference.scaled_dot_product_attention
    workspace = OneWorkspace()

    def attend(query, key, value):
        return workspace(function(query=query[None, None], key=key[None, None], value=value[None, None]).output[0, 0])

    adapter = SimpleNamespace(scaled_dot_product_attention=attend)
    report = attnspec.validate(adapter, select="core/plain*", layout="se")
    assert {result.verdict.check for result in report.wrong} == {"outputs_unchanged"}
