"""Results that are kept without regard to one argument are found out, whichever it is; others are left alone."""

import collections
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import ChangedArgument, load_suite
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.runner import run_suite
from attnspec.targets import load

SUITE = load_suite()
CASES = {case.id: case for case in SUITE.cases.values() if case.changed_argument is not None}
CHANGED = [(case.operation, case.changed_argument.name, case.id) for case in CASES.values()]
MOVE_NO_FIRST_OUTPUT = {
    ("multi_head_attention", "b_key"),
    ("scaled_dot_product_attention", "output_dtype"),
    ("scaled_dot_product_attention_backward", "output"),
    ("scaled_dot_product_attention_backward", "logsumexp"),
    ("qk_norm", "key"),
    ("qk_norm", "key_weight"),
    # The weights that fit the one do not fit the other, but of a single head, for which both are the same.
    ("qk_norm", "normalized_over"),
    ("rotary_frequencies", "attention_factor"),
    ("rotary_frequencies", "magnitude_scaling"),
    ("rotary_frequencies", "magnitude_scaling_all_dimensions"),
    # A mode changes what is refused, steps what lies beside the end, and starts of pages rise; values are second.
    ("scatter_cache", "mode"),
    ("scatter_cache", "step_lengths"),
    ("write_window", "step_lengths"),
    ("write_paged_cache", "page_starts"),
    # The size of blocks moves the lists alone; starts rise, and their reverse falls.
    *(("attention_mask", name) for name in ("block_size", "query_starts", "key_starts")),
    *((name, "value") for name in ("append_cache", "write_slots", "write_paged_cache", "write_window")),
    ("append_cache", "past_value"),
    ("write_slots", "value_pool"),
    ("write_slots", "value_scale"),
    ("write_paged_cache", "value_pool"),
    ("write_window", "value_cache"),
}
MESSAGE = "to the last bit when {} alone became"


class Memory:
    """Keeps results, under a key of all arguments but the forgotten ones."""

    def __init__(self, operation, forgotten=(), kept=None):
        self.function = getattr(attnspec_reference, operation)
        self.forgotten = forgotten
        self.kept = kept
        self.results = {}

    def __call__(self, **arguments):
        key = tuple(
            (name, value.tobytes(), value.shape, value.dtype.name) if isinstance(value, np.ndarray) else (name, value)
            for name, value in sorted(arguments.items())
            if name not in self.forgotten
        )
        if repr(key) not in self.results:
            self.results = dict(list(self.results.items())[-self.kept :] if self.kept else self.results)
            self.results[repr(key)] = self.function(**arguments)
        return self.results[repr(key)]


def validated(operation, function, cases, **attributes):
    holder = SimpleNamespace(**{operation: function}, **{"dtypes": FLOAT_DTYPES, **attributes})
    return run_suite(replace(SUITE, cases={case: SUITE.cases[case] for case in cases}), load(holder))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("kept", [None, 1], ids=["all", "the_last"])
@pytest.mark.parametrize(("operation", "argument", "case"), CHANGED)
def test_a_memory_that_forgets_an_argument_is_not_repeatable(operation, argument, case, kept, dtype):
    (result,) = validated(operation, Memory(operation, (argument,), kept), [case], dtypes=(dtype,))
    assert (result.status, result.verdict.check) == ("fail", "repeatable")
    assert result.verdict.output == OPERATIONS[operation].outputs[0]
    assert MESSAGE.format(argument) in result.verdict.message
    assert result.same_bits is True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_memory_of_all_arguments_passes(operation):
    results = validated(operation, Memory(operation), [case for name, _, case in CHANGED if name == operation])
    assert {result.status for result in results} == {"pass"}


def test_a_memory_may_leave_out_the_bias_of_keys():
    cases = [case for case in SUITE.cases if case.startswith("layout/multi_head_")]
    results = validated("multi_head_attention", Memory("multi_head_attention", ("b_key",)), cases)
    assert {result.status for result in results} == {"pass"}


def test_every_argument_that_reaches_the_output_is_changed_by_a_case():
    arguments = {(name, argument) for name, operation in OPERATIONS.items() for argument in operation.arguments}
    changed = collections.Counter((operation, argument) for operation, argument, _ in CHANGED)
    unchanged = arguments - MOVE_NO_FIRST_OUTPUT - changed.keys()
    assert not unchanged, f"no recipe has a changed_argument of {sorted(unchanged)}"
    assert changed.keys() <= arguments - MOVE_NO_FIRST_OUTPUT
    # Up and down, so that a memory of the largest value is found out as well as one of the first.
    assert changed["rotary_frequencies", "sequence_length"] > 1


# Twice the tolerance lies between any two right answers; one more is for the error of the reference.
@pytest.mark.parametrize(("operation", "argument", "case"), [entry for entry in CHANGED if entry[0] != "glorot_normal"])
def test_no_right_output_stays_the_same(operation, argument, case):
    def changed(**arguments):
        change = CASES[case].changed_argument
        arguments[argument] = np.flip(arguments[argument]) if change.reversed else change.value
        return getattr(attnspec_reference, operation)(**arguments)

    for result in validated(operation, changed, [case]):
        assert result.status == "fail"
        assert result.verdict.check in ("values", "shape")
        assert result.verdict.check == "shape" or result.verdict.worst.ratio > 3


def test_what_changes_and_is_wrong_is_found_out():
    """A part that was kept gives another output than before, and than the one that is expected."""

    class HalfKept:
        """Keeps the output of the first entry."""

        kept = None

        def __call__(self, **arguments):
            output = attnspec_reference.scaled_dot_product_attention(**arguments).output
            self.kept = output[:1] if self.kept is None else self.kept
            return np.concatenate([self.kept, output[1:]])

    case = "memory/changed_key_lengths_slopes"
    (result,) = validated("scaled_dot_product_attention", HalfKept(), [case], dtypes=("float32",))
    assert (result.status, result.verdict.check) == ("fail", "repeatable")
    assert "was wrong when key_lengths alone became its own reverse along every axis" in result.verdict.message


@pytest.mark.parametrize(
    ("attributes", "change"),
    [
        ({"window": [0, None], "causal_alignment": "top_left"}, ("window", [1, None])),
        ({"is_causal": True, "causal_alignment": "top_left"}, ("causal_alignment", "bottom_right")),
    ],
)
@pytest.mark.parametrize(("keys", "value", "status"), [(1, 0.375, "pass"), (1, np.nan, "pass"), (2, 0.375, "fail")])
def test_what_is_the_same_by_declaration_may_stay(attributes, change, keys, value, status):
    """With a single key, who averages without keys gives its value, whatever the window is."""
    random = np.random.default_rng(0)
    inputs = {name: random.standard_normal((1, 1, length, 2)) for name, length in (("query", 3), ("key", keys))}
    inputs["value"] = np.full((1, 1, keys, 2), value)
    inputs["value"][:, :, 1:] = 2.0
    expected = attnspec_reference.scaled_dot_product_attention(**inputs, **attributes)
    wanted = ("scaled_dot_product_attention", "window")
    case = next(CASES[case] for *found, case in CHANGED if tuple(found) == wanted)._replace(
        inputs=inputs,
        attributes=attributes,
        expected={"all": {"output": expected.output}},
        changed_argument=ChangedArgument(*change),
        memory_order={},
    )

    def keeps_the_first(query, key, value, **_):
        found = attnspec_reference.scaled_dot_product_attention(query, key, value, **attributes)
        mean = value.mean(axis=-2, keepdims=True)
        return np.where(found.weights.any(axis=-1, keepdims=True), found.output, mean).astype(query.dtype)

    holder = SimpleNamespace(
        scaled_dot_product_attention=keeps_the_first, dtypes=("float64",), conventions={"fully_masked_row": "uniform"}
    )
    (result,) = run_suite(replace(SUITE, cases={case.id: case}), load(holder))
    assert result.status == status, result.verdict.message
    if status == "fail":
        assert f"stayed the same to the last bit when {change[0]} alone became" in result.verdict.message


@pytest.mark.parametrize("kind", ["needs_more", "nan"])
def test_what_the_case_does_not_ask_for_is_not_graded_when_it_changes(kind):
    """A scale below 0 that comes of the change, or NaN that is expected then, are for other cases."""
    case = CASES["memory/repeated_the_mask"]
    inputs, attributes = {**case.inputs, "mask": np.ones((5, 5), np.bool_)}, {"scale": 0.5}
    change = ChangedArgument("scale", -1.0)
    if kind == "nan":
        change = ChangedArgument("mask", reversed=True)
        inputs["value"] = inputs["value"].copy()
        inputs["value"][:, :, 0] = np.nan
        inputs["mask"][:, 0] = False
    expected = attnspec_reference.scaled_dot_product_attention(**inputs, **attributes)
    called = case._replace(
        inputs=inputs, attributes=attributes, expected={"all": {"output": expected.output}}, changed_argument=change
    )
    calls, right = [], 3 if kind == "nan" else 2

    def attend(**arguments):
        calls.append(arguments["mask"])
        output = attnspec_reference.scaled_dot_product_attention(**arguments).output
        return output if len(calls) <= right else output + 1

    holder = SimpleNamespace(scaled_dot_product_attention=attend, dtypes=("float64",))
    (result,) = run_suite(replace(SUITE, cases={case.id: called}), load(holder))
    assert len(calls) == right + 1
    assert result.status == "pass", result.verdict.message


def test_who_reshapes_what_is_to_be_written_over_is_reported_of_it():
    case = next(case for name, argument, case in CHANGED if (name, argument) == ("split_heads", "x"))
    called = []

    def split(x, num_heads):
        output = attnspec_reference.split_heads(x, num_heads=num_heads)
        called.append(x)
        if len(called) == 3:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x.shape = (x.size,)
        return output

    (result,) = validated("split_heads", split, [case], dtypes=("float32",))
    assert (result.status, result.verdict.check) == ("fail", "inputs_unchanged")
    assert len(called) == 3


def test_what_a_convention_takes_away_is_not_changed():
    memory = Memory("scaled_dot_product_attention", ("causal_alignment",))

    def bottom_right(**arguments):
        return memory(**arguments, causal_alignment="bottom_right")

    case = next(
        case
        for operation, argument, case in CHANGED
        if (operation, argument) == ("scaled_dot_product_attention", "causal_alignment")
    )
    conventions = {"causal_alignment": "bottom_right"}
    results = validated("scaled_dot_product_attention", bottom_right, [case], conventions=conventions)
    assert {result.status for result in results} == {"pass"}


def test_a_call_that_returns_nothing_tells_nothing():
    """What is declined, or raises, when an argument changes is no evidence that results are kept."""
    for error in (attnspec.Unsupported("one axis"), RuntimeError("no")):
        called = []

        def softmax(x, axis=-1, error=error, called=called):
            called.append(axis)
            if axis == -1:
                raise error
            return attnspec_reference.softmax(x, axis=axis)

        case = "layout/softmax_columns_by_negative_axis"
        (result,) = validated("softmax", softmax, [case], dtypes=("float64",))
        assert result.status == "pass"
        assert called == [-2, -2, -1]


def test_a_result_in_a_buffer_that_is_used_again_is_not_one_that_was_kept():
    class Buffer:
        output = np.zeros((3, 5))

        def __call__(self, x, axis=-1):
            self.output[:] = attnspec_reference.softmax(x, axis=axis)
            return self.output

    holder = SimpleNamespace(softmax=Buffer(), conventions={"outputs": "until_next_call"})
    (result,) = attnspec.validate(holder, select="layout/softmax_columns").results
    assert result.status == "pass"


class MemoryOfArrays:
    """Keeps results as long as one input is the same array, whatever it holds by now."""

    def __init__(self, operation, argument):
        self.function = getattr(attnspec_reference, operation)
        self.argument = argument
        self.of, self.result = None, None

    def __call__(self, **arguments):
        if arguments[self.argument] is not self.of:
            self.of, self.result = arguments[self.argument], self.function(**arguments)
        return self.result


REVERSED = [
    (name, argument, case)
    for name, argument, case in CHANGED
    if CASES[case].changed_argument.reversed and argument not in CASES[case].memory_order
]


@pytest.mark.parametrize(("operation", "argument", "case"), REVERSED)
def test_what_is_kept_as_long_as_an_array_is_the_same_is_found_out(operation, argument, case):
    (result,) = validated(operation, MemoryOfArrays(operation, argument), [case], dtypes=("float32",))
    assert (result.status, result.verdict.check) == ("fail", "repeatable")
    assert MESSAGE.format(argument) in result.verdict.message


def test_outputs_that_lie_in_an_input_may_be_written_over_with_it():
    def split(x, num_heads):
        return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)

    cases = [case for name, _, case in CHANGED if name == "split_heads"]
    assert {result.status for result in validated("split_heads", split, cases)} == {"pass"}


def test_what_cannot_be_written_to_is_handed_over_anew():
    (case,) = [case for name, argument, case in CHANGED if (name, argument) == ("split_heads", "x")][:1]
    readonly = CASES[case]._replace(memory_order={"x": "readonly"})
    holder = SimpleNamespace(split_heads=Memory("split_heads", ("x",)), dtypes=("float32",))
    (result,) = run_suite(replace(SUITE, cases={case: readonly}), load(holder))
    assert result.verdict.check == "repeatable"


def test_what_may_be_nan_says_nothing_of_what_was_changed():
    """Who multiplies an excluded NaN by a weight of 0 gives NaN, whatever the other arguments are."""
    (case,) = [
        case for name, argument, case in CHANGED if (name, argument) == ("scaled_dot_product_attention", "value")
    ][:1]
    inputs = dict(CASES[case].inputs)
    queries, keys = inputs["query"].shape[2], inputs["key"].shape[2]
    inputs["mask"] = np.broadcast_to(np.arange(keys) != 1, (queries, keys)).copy()
    inputs["value"] = np.where(np.arange(keys)[:, np.newaxis] == 1, np.nan, inputs["value"])
    attributes = CASES[case].attributes
    expected = attnspec_reference.scaled_dot_product_attention(**inputs, **attributes)
    spoilt = CASES[case]._replace(inputs=inputs, expected={"all": {"output": expected.output}})

    def attend(**arguments):
        output = attnspec_reference.scaled_dot_product_attention(**arguments).output
        return np.full_like(output, np.nan)

    holder = SimpleNamespace(
        scaled_dot_product_attention=attend, dtypes=("float64",), conventions={"masked_nonfinite": "propagates"}
    )
    (result,) = run_suite(replace(SUITE, cases={case: spoilt}), load(holder))
    assert result.status in ("pass", "ungraded")


def test_rows_that_are_nan_as_declared_say_nothing_of_what_was_changed():
    """A head without keys makes its whole token NaN, in every row of a layer in which each token has such a head."""
    (case,) = [case for name, argument, case in CHANGED if (name, argument) == ("multi_head_attention", "w_output")][:1]
    inputs, attributes = dict(CASES[case].inputs), CASES[case].attributes
    heads, queries, keys = attributes["num_heads"], inputs["query"].shape[1], inputs["key"].shape[1]
    inputs["mask"] = np.broadcast_to(np.arange(heads)[:, np.newaxis, np.newaxis] > 0, (heads, queries, keys)).copy()
    expected = attnspec_reference.multi_head_attention(**inputs, **attributes)
    dead = CASES[case]._replace(
        inputs=inputs, expected={"all": {"output": expected.output}}, conventions=("fully_masked_row",)
    )

    def attend(**arguments):
        return np.full_like(attnspec_reference.multi_head_attention(**arguments).output, np.nan)

    holder = SimpleNamespace(multi_head_attention=attend, dtypes=("float64",), conventions={"fully_masked_row": "nan"})
    (result,) = run_suite(replace(SUITE, cases={case: dead}), load(holder))
    assert result.status == "pass", result.verdict.message


def test_what_a_convention_fixes_is_graded_only_where_the_case_says_it():
    """A case that alignments do not distinguish may be changed into one that they do: nothing is said about it."""
    case = CASES["memory/changed_key_lengths_window"]

    def bottom_right(**arguments):
        return attnspec_reference.scaled_dot_product_attention(**arguments, causal_alignment="bottom_right").output

    unstated = {name: value for name, value in case.attributes.items() if name != "causal_alignment"}
    expected = bottom_right(**case.inputs, **unstated)
    called = case._replace(attributes=unstated, expected={"all": {"output": expected}})
    holder = SimpleNamespace(
        scaled_dot_product_attention=bottom_right,
        dtypes=("float64",),
        conventions={"causal_alignment": "bottom_right"},
    )
    (result,) = run_suite(replace(SUITE, cases={case.id: called}), load(holder))
    assert result.status == "pass", result.verdict.message


def test_what_is_lacking_is_not_requested_when_it_comes_of_a_change():
    called = []

    def top_left(causal_alignment="top_left", **arguments):
        called.append(causal_alignment)
        return attnspec_reference.scaled_dot_product_attention(**arguments, causal_alignment="top_left").output

    without = ("causal_alignment=bottom_right",)
    case = "memory/changed_alignment_window"
    (result,) = validated("scaled_dot_product_attention", top_left, [case], dtypes=("float64",), without=without)
    assert result.status == "pass", result.verdict.message
    assert {*called} == {"top_left"}
