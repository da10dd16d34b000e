"""The memory layouts in which inputs are handed over: other strides, the same numbers, and edits are seen."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.cases import canonical_json
from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.runner.memory_order import FUSED, MEMORY_ORDERS, SHARED, in_memory_order, in_memory_orders
from attnspec_authoring.recipes import AuthoredCase, Source
from attnspec_authoring.regeneration import filled_document
from attnspec_reference import scaled_dot_product_attention

OPERATION = "scaled_dot_product_attention"
SHAPE = (2, 3, 4, 5)


REPEATED = {
    "broadcast": np.s_[:1],
    "heads_broadcast": np.s_[:, :1],
    "tokens_broadcast": np.s_[:, :, :1],
    "features_broadcast": np.s_[..., :1],
    "one_number": np.s_[:1, :1, :1, :1],
    "shared": np.s_[:1],
}
"""The part of an array that stands for all of it, for layouts that have one."""


def ordinary(dtype="float64", *layouts):
    numbers = (np.arange(120) % 37 - 18).reshape(SHAPE) / 8
    for layout in layouts:
        numbers[:] = numbers[REPEATED.get(layout, ...)]
    return numbers.astype(numpy_dtype(dtype))


def suite(folder, replaced=None, **memory_order):
    """A suite of one case whose inputs are handed over so; some may hold other numbers."""
    array = ordinary("float64", *memory_order.values())
    inputs = dict.fromkeys(("query", "key", "value"), array)
    case = AuthoredCase(
        id="memory/one",
        title="One case.",
        operation=OPERATION,
        clauses=("sdpa.memory_layout",),
        source=Source(section="memory"),
        inputs={**inputs, "mask": np.arange(20).reshape(4, 5)[:, :4] % 3 > 0, **(replaced or {})},
        dtypes=FLOAT_DTYPES,
        memory_order=memory_order,
    )
    path = folder / "memory" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(canonical_json(filled_document(case)))
    return folder


def results(function, folder, dtypes=FLOAT_DTYPES):
    holder = SimpleNamespace(**{OPERATION: function}, dtypes=dtypes)
    return attnspec.validate(holder, golden=folder).results


@pytest.mark.parametrize("dtype", [*FLOAT_DTYPES, "bool", "int64"])
@pytest.mark.parametrize("layout", MEMORY_ORDERS)
def test_a_layout_changes_memory_and_nothing_else(layout, dtype):
    array = ordinary(dtype, layout)
    handed = in_memory_order(array.copy(), layout)
    assert handed.dtype == array.dtype
    assert handed.shape == array.shape
    assert handed.tobytes() == array.tobytes()
    assert handed.flags.writeable == (layout != "readonly")


def test_each_layout_is_what_its_name_says():
    handed = {layout: in_memory_order(ordinary("float64", layout), layout) for layout in MEMORY_ORDERS}
    size = 8
    assert handed["fortran"].flags.f_contiguous
    assert not handed["fortran"].flags.c_contiguous
    assert handed["heads_last"].strides == (60 * size, 5 * size, 15 * size, size)
    assert handed["heads_last"].transpose(0, 2, 1, 3).flags.c_contiguous
    assert handed["heads_last_gapped"].strides == (72 * size, 5 * size, 18 * size, size)
    assert all(stride < 0 for stride in handed["reversed"].strides)
    assert handed["gapped"].strides == (120 * size, 40 * size, 10 * size, 2 * size)
    assert handed["broadcast"].strides == (0, 20 * size, 5 * size, size)
    assert handed["heads_broadcast"].strides == (60 * size, 0, 5 * size, size)
    assert handed["tokens_broadcast"].strides == (60 * size, 20 * size, 0, size)
    assert handed["features_broadcast"].strides == (60 * size, 20 * size, 5 * size, 0)
    assert handed["one_number"].strides == (0, 0, 0, 0)
    assert handed["inside"].flags.c_contiguous
    assert handed["inside"].base.size > handed["inside"].size
    assert handed["readonly"].flags.c_contiguous
    plain = in_memory_order(ordinary(), None)
    assert plain.flags.c_contiguous
    assert plain.flags.writeable


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_what_lies_in_the_gaps_shows_when_it_is_read(dtype):
    handed = in_memory_order(ordinary(dtype), "gapped")
    behind = np.lib.stride_tricks.as_strided(handed, strides=(*handed.strides[:-1], handed.itemsize))
    assert np.isnan(behind[..., 1].astype(np.float64)).all()


@pytest.mark.parametrize("layout", sorted(MEMORY_ORDERS.keys() - {SHARED, FUSED}))
def test_a_right_implementation_passes_in_every_layout(layout, tmp_path):
    every = not layout.startswith("heads_last") and layout not in REPEATED
    names = ("query", "key", "value", *(("mask",) if every else ()))
    folder = suite(tmp_path, **dict.fromkeys(names, layout))
    seen = []

    def attend(**arguments):
        seen.append(arguments["key"].strides)
        return scaled_dot_product_attention(**arguments)

    graded = results(attend, folder)
    assert [result.status for result in graded] == ["pass"] * 4, [result.verdict.message for result in graded]
    expected = {in_memory_order(ordinary(dtype, layout), layout).strides for dtype in FLOAT_DTYPES}
    assert set(seen) == expected


@pytest.mark.parametrize("layout", ["fortran", "heads_last", "reversed", "gapped"])
def test_who_takes_memory_for_c_order_fails(layout, tmp_path):
    def in_memory_order(array):
        """The numbers as they lie in memory, from the lowest address on, taken for C order."""
        start = array[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)]
        last = sum((length - 1) * stride for length, stride in zip(start.shape, start.strides, strict=True))
        memory = np.lib.stride_tricks.as_strided(start, (1 + last // start.itemsize,), (start.itemsize,))
        return memory[: array.size].reshape(array.shape)

    def attend(**arguments):
        return scaled_dot_product_attention(**{**arguments, "key": in_memory_order(arguments["key"])}).output

    assert {result.status for result in results(attend, suite(tmp_path, key=layout))} == {"fail"}


def test_who_takes_memory_for_c_order_passes_where_it_is(tmp_path):
    def attend(**arguments):
        key = np.lib.stride_tricks.as_strided(arguments["key"], arguments["value"].shape)
        return scaled_dot_product_attention(**{**arguments, "key": key}).output

    assert {result.status for result in results(attend, suite(tmp_path, key="readonly"))} == {"pass"}


@pytest.mark.parametrize("layout", [None, "fortran", "heads_last", "reversed", "gapped", "broadcast"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_an_edit_of_memory_is_seen_through_every_view(layout, dtype, tmp_path):
    def edits(**arguments):
        returned = scaled_dot_product_attention(**arguments).output
        arguments["query"][1, 2, 3, 4] += 1
        return returned

    (result,) = results(edits, suite(tmp_path, **({"query": layout} if layout else {})), [dtype])
    assert (result.status, result.verdict.check) == ("fail", "inputs_unchanged")
    assert "'query'" in result.verdict.message


def test_who_raises_because_an_input_is_read_only_is_in_error(tmp_path):
    def edits(**arguments):
        arguments["key"] *= 0.5
        return scaled_dot_product_attention(**arguments).output

    (result,) = results(edits, suite(tmp_path, key="readonly"), ["float64"])
    assert result.status == "error"
    assert "read-only" in result.verdict.message


def test_inputs_that_share_an_array_are_one_object(tmp_path):
    seen = []

    def attend(**arguments):
        seen.append(arguments["query"] is arguments["key"] and arguments["value"] is not arguments["key"])
        return scaled_dot_product_attention(**arguments)

    assert {result.status for result in results(attend, suite(tmp_path, query="shared", key="shared"))} == {"pass"}
    assert set(seen) == {True}


def test_who_scales_one_of_two_inputs_in_place_is_found_out_where_they_are_one(tmp_path):
    def attend(**arguments):
        kept = arguments["query"].copy()
        arguments["query"] *= 0.5
        returned = scaled_dot_product_attention(**arguments, scale=2.0 * 5**-0.5).output
        arguments["query"][...] = kept
        return returned

    (apart,) = results(attend, suite(tmp_path / "apart"), ["float64"])
    (shared,) = results(attend, suite(tmp_path / "shared", query="shared", key="shared"), ["float64"])
    assert apart.status == "pass", apart.verdict.message
    assert (shared.status, shared.verdict.check) == ("fail", "values")


def test_fused_inputs_are_sections_of_one_array_where_their_shapes_allow_it():
    shapes = {"query": (2, 5, 3), "key": (2, 4, 3), "value": (2, 4, 7), "mask": (2, 4, 2), "past_key": (2, 4, 3)}
    arrays = {name: np.arange(np.prod(shape)).reshape(shape) / 1.0 for name, shape in shapes.items()}
    arrays["mask"] = arrays["mask"] > 3
    kept = {name: array.copy() for name, array in arrays.items()}
    handed = in_memory_orders(arrays, dict.fromkeys(("query", "key", "value", "mask"), FUSED))
    assert list(handed) == list(kept)
    for name, array in kept.items():
        assert handed[name].dtype == array.dtype
        assert np.array_equal(handed[name], array)
    assert handed["key"].base is handed["value"].base
    assert handed["value"].strides == (4 * 10 * 8, 10 * 8, 8)
    assert len({id(handed[name].base) for name in ("query", "key", "mask")}) == 3
    assert handed["past_key"] is arrays["past_key"]


def test_who_takes_sections_of_one_array_for_one_tensor_is_found_out(tmp_path):
    def attend(**arguments):
        if np.may_share_memory(arguments["key"], arguments["value"]):
            arguments["value"] = arguments["key"]
        return scaled_dot_product_attention(**arguments).output

    replaced = {"value": 2.0 * ordinary()}
    apart = suite(tmp_path / "apart", replaced)
    fused = suite(tmp_path / "fused", replaced, key=FUSED, value=FUSED)
    assert [result.status for result in results(attend, apart, ["float64"])] == ["pass"]
    assert [result.status for result in results(attend, fused, ["float64"])] == ["fail"]


def test_a_layout_wrapper_passes_the_views_on(tmp_path):
    seen = []

    class TokensFirst:
        dtypes = ("float64",)

        def scaled_dot_product_attention(self, query, key, value, mask):
            seen.append(query.flags.writeable)
            turned = (array.swapaxes(1, 2) for array in (query, key, value))
            return scaled_dot_product_attention(*turned, mask).output.swapaxes(1, 2)

    folder = suite(tmp_path, query="readonly", value="heads_last")
    report = attnspec.validate(TokensFirst(), golden=folder, layout="bshe")
    assert [result.status for result in report.results] == ["pass"]
    assert seen == [False, False]


@pytest.mark.parametrize(
    ("memory_order", "sentence"),
    [
        ({"sinks": "readonly"}, "there is no such input"),
        ({"mask": "heads_last"}, "rank 4"),
        ({"mask": "broadcast"}, "all of them equal"),
        ({"mask": "heads_broadcast"}, "rank 4"),
        ({"mask": "tokens_broadcast"}, "several tokens, all of them equal"),
        ({"mask": "features_broadcast"}, "several entries along the last axis, all of them equal"),
        ({"mask": "one_number"}, "all of them equal"),
        ({"query": "shared"}, "several tensors"),
        ({"query": "shared", "mask": "shared"}, "same numbers"),
    ],
)
def test_a_memory_order_that_cannot_be_is_refused_when_it_is_authored(memory_order, sentence, tmp_path):
    with pytest.raises(attnspec.base.errors.RecipeError, match=sentence):
        suite(tmp_path, **memory_order)


def test_inputs_that_are_shared_are_one_array(tmp_path):
    seen = []

    def attend(**arguments):
        seen.append(arguments["query"] is arguments["key"] is arguments["value"])
        return scaled_dot_product_attention(**arguments)

    folder = suite(tmp_path, query=SHARED, key=SHARED, value=SHARED)
    assert {result.status for result in results(attend, folder)} == {"pass"}
    assert seen
    assert all(seen)


@pytest.mark.parametrize(("layout", "status"), [(SHARED, "fail"), (None, "pass")])
def test_who_edits_an_input_and_takes_it_back_fails_where_it_is_shared(layout, status, tmp_path):
    def attend(query, key, value, mask):
        query *= 2
        output = scaled_dot_product_attention(query, key, value, mask, scale=0.5 * 5**-0.5).output
        query /= 2
        return output

    folder = suite(tmp_path, **(dict.fromkeys(("query", "key"), layout) if layout else {}))
    assert {result.status for result in results(attend, folder)} == {status}
