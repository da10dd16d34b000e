"""The layouts in which an operation has other arguments, from outside: what is handed over, and what comes of it."""

import contextlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.base.errors import TargetError, UsageError
from attnspec.cases import load_suite
from attnspec.contract import IN_LAYOUT
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.contract.implementation import Declined, Malformed, Outputs, Request
from attnspec.contract.layout import clauses_in, layout_with_setting, read_layout
from attnspec.process.process import isolated
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.laid_out import laid_out
from attnspec.targets.target import Target
from attnspec.validation import validate

OPERATION = "scaled_dot_product_attention"
PAGED = [layout for layout in IN_LAYOUT if layout.startswith("paged")]
LENGTHS = np.array([5, 0, 8, 3])


def drawn(batch=4, heads=4, shared=2, queries=3, keys=8, **more):
    random = np.random.default_rng(0)
    return {
        "query": random.standard_normal((batch, heads, queries, 2)),
        "key": random.standard_normal((batch, shared, keys, 2)),
        "value": random.standard_normal((batch, shared, keys, 3)),
        **more,
    }


def called(function, layout, inputs, attributes=None, conventions=None, times=1, dtype="float64"):
    """The last of some equal requests, to a function of a layout that is given what keeps its arguments."""
    seen = []

    def keeping(**arguments):
        seen.append(arguments)
        return function(**arguments)

    holder = SimpleNamespace(**{OPERATION: keeping}, layout=layout)
    implementation = laid_out(InProcessImplementation(holder, "mine"), layout)
    request = Request(OPERATION, dtype, inputs, attributes or {}, conventions=conventions or {})
    answers = [implementation.run(request) for _ in range(times)]
    return answers[-1], seen


def of_reference(layout):
    return attnspec_reference.IN_LAYOUT[read_layout(layout).name][OPERATION]


@pytest.mark.parametrize("layout", IN_LAYOUT)
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_the_reference_gives_in_a_layout_what_it_gives_in_the_contracts_own(layout, alignment):
    inputs = drawn(key_lengths=LENGTHS, query_lengths=np.array([3, 2, 1, 0]), sinks=np.array([0.5, -1.0, 0.0, 2.0]))
    attributes = {"is_causal": True, "window": [2, 0], "causal_alignment": alignment}
    answer, _ = called(of_reference(layout), layout, inputs, attributes)
    right = attnspec_reference.scaled_dot_product_attention(**inputs, **attributes)
    for entry, counted in enumerate(inputs["query_lengths"]):
        for name in ("output", "logsumexp"):
            given, expected = answer.values[name][entry, :, :counted], getattr(right, name)[entry, :, :counted]
            np.testing.assert_allclose(given, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("layout", PAGED)
def test_pages_hold_the_keys_bit_for_bit_and_poison_elsewhere(layout):
    inputs = drawn(key_lengths=LENGTHS)
    _, (given,) = called(of_reference(layout), f"{layout}:page_size=4", inputs)
    pool = given["key_pool"].swapaxes(1, 2) if "heads_first" in layout else given["key_pool"]
    if "block_table" in given:
        rows = [row[: -(-length // 4)] for row, length in zip(given["block_table"], LENGTHS, strict=True)]
        assert given["block_table"].shape == (4, 3)
    else:
        rows = [given["page_indices"][a:b] for a, b in itertools.pairwise(given["page_starts"])]
        assert given["last_page_length"][LENGTHS > 0].tolist() == [1, 4, 3]
    used = set()
    for entry, (row, length) in enumerate(zip(rows, LENGTHS, strict=True)):
        tokens = pool[row].reshape(-1, 2, 2)
        np.testing.assert_array_equal(tokens[:length], inputs["key"][entry, :, :length].swapaxes(0, 1))
        assert is_poison(tokens[length:])
        used |= set(row.tolist())
    assert is_poison(pool[[page for page in range(len(pool)) if page not in used]])
    assert sum(map(len, rows)) == len(used)


def is_poison(tokens):
    return bool(np.all(np.isnan(tokens) | (np.abs(tokens) >= 64)))


@pytest.mark.parametrize("choice", ["ignored", "propagates"])
def test_nan_stands_where_nothing_may_be_read_only_where_it_has_no_effect(choice):
    found = set()
    for keys in range(2, 12):
        for call in called(
            of_reference("paged"), "paged", drawn(keys=keys), conventions={"masked_nonfinite": choice}, times=2
        )[1]:
            found.add(bool(np.isnan(call["key_pool"]).any()))
            assert np.isnan(call["key_pool"]).any() == np.isnan(call["value_pool"]).any()
    assert found == ({True, False} if choice == "ignored" else {False})


def test_a_second_call_has_another_order_of_pages_and_the_other_poison_and_gives_the_same():
    inputs = drawn(key_lengths=LENGTHS)
    first, (one,) = called(of_reference("paged"), "paged:page_size=1", inputs)
    second, (again, other) = called(of_reference("paged"), "paged:page_size=1", inputs, times=2)
    assert np.array_equal(one["block_table"], again["block_table"])
    assert not np.array_equal(one["block_table"], other["block_table"])
    assert np.isnan(again["key_pool"]).any() != np.isnan(other["key_pool"]).any()
    assert first.values["output"].tobytes() == second.values["output"].tobytes()


def test_a_run_meets_several_page_sizes_and_a_target_may_have_one():
    sizes = {
        called(of_reference("paged"), "paged", drawn(keys=keys))[1][0]["key_pool"].shape[1] for keys in range(1, 40)
    }
    assert sizes == {1, 3, 4, 12, 16, 64}
    wide = {"value": np.zeros((4, 2, 8, 16))}
    sizes = {
        called(of_reference("paged"), "paged", drawn(queries=queries, **wide))[1][0]["key_pool"].shape[1]
        for queries in range(1, 40)
    }
    assert sizes == {2, 5, 24, 32, 40, 96}
    assert {
        called(of_reference("paged"), "paged:page_size=16", drawn(keys=keys))[1][0]["key_pool"].shape[1]
        for keys in range(1, 9)
    } == {16}


@pytest.mark.parametrize("layout", PAGED)
def test_sequences_that_begin_with_the_same_full_pages_have_these_in_common(layout):
    inputs = drawn(keys=10)
    for name in ("key", "value"):
        inputs[name][1:3, :, :9] = inputs[name][0, :, :9]
    inputs["value"][2, :, 5] += 1.0
    answer, (given,) = called(of_reference(layout), f"{layout}:page_size=4", inputs)
    if "block_table" in given:
        rows = given["block_table"][:, :3].tolist()
    else:
        rows = given["page_indices"][:12].reshape(4, 3).tolist()
    assert rows[1][:2] == rows[0][:2]
    assert rows[2][0] == rows[0][0]
    assert len(set(itertools.chain(*rows))) == 12 - 3
    right = attnspec_reference.scaled_dot_product_attention(**inputs)
    np.testing.assert_allclose(answer.values["output"], right.output, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("layout", PAGED)
def test_the_beginning_of_an_earlier_sequence_has_its_last_page_from_that_too(layout):
    inputs = drawn(batch=3, keys=10, key_lengths=np.array([10, 6, 10]))
    for name in ("key", "value"):
        inputs[name][1:, :, :6] = inputs[name][0, :, :6]
    answer, (given,) = called(of_reference(layout), f"{layout}:page_size=4", inputs)
    if "block_table" in given:
        first, second, third = (row[:count] for row, count in zip(given["block_table"], (3, 2, 3), strict=True))
    else:
        first, second, third = np.split(given["page_indices"][:8], [3, 5])
    assert second.tolist() == first[:2].tolist()
    assert third[0] == first[0]
    assert third[1] not in first
    right = attnspec_reference.scaled_dot_product_attention(**inputs)
    np.testing.assert_allclose(answer.values["output"], right.output, rtol=1e-14, atol=1e-14)


def test_a_sequence_without_pages_has_a_length_of_the_last_page_that_counts_keys_or_none():
    inputs = drawn(batch=5, key_lengths=np.zeros(5, dtype=np.int64))
    _, (given,) = called(of_reference("paged_csr"), "paged_csr:page_size=4", inputs)
    lengths = given["last_page_length"]
    assert lengths.min() < 0
    assert lengths.max() > 4
    assert 0 in lengths


def test_unused_entries_of_a_table_name_a_page_that_is_there_unless_they_are_strict():
    inputs = drawn(key_lengths=LENGTHS)
    _, (lenient,) = called(of_reference("paged"), "paged:page_size=4", inputs)
    _, (strict,) = called(of_reference("paged"), "paged:page_size=4,strict_table", inputs)
    assert lenient["block_table"].max() < len(lenient["key_pool"])
    assert (strict["block_table"] >= len(strict["key_pool"])).sum(axis=1).tolist() == [1, 3, 1, 2]


def strides_over_itemsize(array):
    return tuple(stride // array.itemsize for stride in array.strides)


def pairs_of(array):
    """A view of every second part along a new axis, as gaps are made."""
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    larger[..., ::2] = array
    return larger[..., ::2]


@pytest.mark.parametrize(
    ("lay", "holds"),
    [
        (np.asfortranarray, lambda array: array.flags.f_contiguous),
        (
            lambda array: array[::-1, ::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1, ::-1],
            lambda array: max(array.strides) < 0,
        ),
        (pairs_of, lambda array: array.strides[-1] == 2 * array.itemsize),
        (
            lambda array: np.stack([array.ravel()] * 2)[0].reshape(array.shape),
            lambda array: array.base.size > array.size,
        ),
    ],
)
@pytest.mark.parametrize("layout", ["packed", "paged", "paged_csr_heads_first"])
def test_what_is_made_of_keys_lies_in_memory_as_they_do(layout, lay, holds):
    inputs = drawn(key_lengths=LENGTHS)
    plain, (ordinary,) = called(of_reference(layout), layout, inputs)
    answer, (given,) = called(of_reference(layout), layout, {**inputs, "key": lay(inputs["key"])})
    name = "key" if layout == "packed" else "key_pool"
    assert ordinary[name].flags.c_contiguous
    assert holds(given[name])
    assert np.array_equal(given[name], ordinary[name], equal_nan=True)
    assert answer.values["output"].tobytes() == plain.values["output"].tobytes()


def test_tables_and_lists_lie_in_memory_as_lengths_and_keys_do():
    inputs = drawn(key_lengths=LENGTHS)
    backwards = {**inputs, "key_lengths": LENGTHS[::-1].copy()[::-1]}
    read_only = {**inputs, "key_lengths": LENGTHS.copy()}
    read_only["key_lengths"].flags.writeable = False
    _, (table,) = called(of_reference("paged"), "paged", backwards)
    _, (locked,) = called(of_reference("paged_csr"), "paged_csr", read_only)
    _, (turned,) = called(of_reference("paged"), "paged", {**inputs, "key": np.asfortranarray(inputs["key"])})
    assert max(table["block_table"].strides) < 0
    assert max(table["key_lengths"].strides) < 0
    assert not any(locked[name].flags.writeable for name in ("page_starts", "page_indices", "last_page_length"))
    assert strides_over_itemsize(turned["block_table"]) == (1, 4)
    assert turned["key_lengths"].flags.writeable


def test_some_pools_have_more_slots_than_sixteen_bits_count():
    def slots(keys, width):
        inputs = {
            name: np.zeros((2, 1, tokens, width)) for name, tokens in (("query", 1), ("key", keys), ("value", keys))
        }
        _, (given,) = called(of_reference("paged"), "paged", inputs)
        pages, size = given["key_pool"].shape[:2]
        return pages * size, int(given["block_table"].max()) * size

    of_little_room = [slots(keys, 1) for keys in range(1, 20)]
    assert max(last for _, last in of_little_room) > 2**16
    assert min(number for number, _ in of_little_room) < 2**12
    assert max(slots(keys, 2)[0] for keys in range(1, 20)) < 2**12


def test_a_past_stands_before_the_keys_and_asks_for_the_bottom_right():
    random = np.random.default_rng(1)
    past = {"past_key": random.standard_normal((4, 2, 5, 2)), "past_value": random.standard_normal((4, 2, 5, 3))}
    inputs = {**drawn(queries=8), **past}
    answer, (given,) = called(of_reference("packed"), "packed", inputs, {"is_causal": True})
    assert given["causal_alignment"] == "bottom_right"
    assert given["key"].shape == (4 * 13, 2, 2)
    right = attnspec_reference.scaled_dot_product_attention(**inputs, is_causal=True)
    np.testing.assert_allclose(answer.values["output"], right.output, rtol=1e-14)
    _, (fixed,) = called(
        of_reference("packed"), "packed", inputs, {"is_causal": True}, {"causal_alignment": "bottom_right"}
    )
    assert "causal_alignment" not in fixed
    declined, calls = called(of_reference("packed"), "packed", {**drawn(queries=3), **past}, {"is_causal": True})
    assert isinstance(declined, Declined)
    assert "top left" in declined.reason
    assert calls == []


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (drawn(mask=np.ones((3, 8), dtype=bool)), "an axis of batch entries or of queries"),
        (drawn(mask=np.ones((4, 1, 1, 8), dtype=bool)), "an axis of batch entries or of queries"),
        (drawn(mask=np.ones((1, 7), dtype=bool)), "another number of columns"),
        ({**drawn(), "key": np.zeros((4, 2, 7, 2))}, "differ in batch size or tokens"),
        ({**drawn(), "key": np.zeros((4, 2, 2))}, "key has another rank than 4"),
        (drawn(key_lengths=np.array([9, 1, 1, 1])), "a length that no sequence has"),
        (drawn(key_lengths=np.array([1, 1])), "not a whole number for each batch entry"),
        (
            {**drawn(), "key": np.broadcast_to(drawn()["key"][:, :1], (4, 2, 8, 2))},
            "how key lies in memory would be lost",
        ),
        (drawn(past_key=np.zeros((4, 2, 1, 2))), "only one of past_key and past_value"),
    ],
)
@pytest.mark.parametrize("layout", ["packed", "paged_csr"])
def test_what_a_layout_cannot_hold_is_declined(layout, inputs, words):
    answer, calls = called(of_reference(layout), layout, inputs)
    assert isinstance(answer, Declined)
    assert words in answer.reason
    assert calls == []


@pytest.mark.parametrize(
    ("layout", "returned", "words"),
    [
        ("packed", np.zeros((4, 4, 3, 3)), "output has the shape (4, 4, 3, 3); expected (12, 4, 3)"),
        ("paged", np.zeros((12, 4, 3)), "output has the shape (12, 4, 3); expected (4, 4, 3, 3)"),
    ],
)
def test_outputs_of_another_layout_are_none(layout, returned, words):
    answer, _ = called(lambda **_: returned, layout, drawn())
    assert isinstance(answer, Malformed)
    assert words in answer.message


def test_inputs_that_are_changed_are_reported_by_the_names_that_they_have_there():
    def editing(**arguments):
        arguments["key_pool"][:] = 0
        return of_reference("paged")(**arguments)

    answer, _ = called(editing, "paged", drawn())
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("key_pool",)


def test_a_function_has_the_arguments_of_its_layout():
    def mine(query, key_pool, value_pool, block_table, key_lengths):
        return attnspec_reference.paged_attention(query, key_pool, value_pool, block_table, key_lengths)

    report = validate(mine, operation=OPERATION, layout="paged", profile="paged")
    assert report.summary.counts["pass"] >= 4
    assert not report.wrong
    assert report.declaration.requested_in == "paged"
    with pytest.raises(TargetError, match="'key', 'value'"):
        validate(mine, operation=OPERATION)
    with pytest.raises(TargetError, match="block_table"):
        validate(
            attnspec_reference.packed_attention, operation=OPERATION, layout="packed", renames={"q": "block_table"}
        )


def test_clauses_of_a_layout_hold_there_alone_and_come_first():
    clauses = ("sdpa.output", "sdpa.packed.starts", "sdpa.paged.table", "sdpa.paged.pages")
    assert clauses_in(clauses, None) == ("sdpa.output",)
    assert clauses_in(clauses, "packed") == ("sdpa.packed.starts", "sdpa.output")
    assert clauses_in(clauses, "paged:page_size=4") == ("sdpa.paged.table", "sdpa.paged.pages", "sdpa.output")
    assert clauses_in(clauses, "paged_csr") == ("sdpa.paged.pages", "sdpa.output")
    report = validate("reference", profile="paged", dtypes="float64")
    assert not [clause for result in report.results for clause in result.case.clauses if ".paged." in clause]
    assert report.conforms


@pytest.mark.parametrize("layout", IN_LAYOUT)
def test_the_reference_conforms_in_every_layout_and_dtype(layout):
    report = validate("reference", layout=layout, profile="paged")
    assert report.conforms
    cases = load_suite(profiles=["paged"]).cases
    assert report.summary.counts["pass"] == len(report.results) == len(cases) * len(FLOAT_DTYPES)


def test_pools_have_the_dtype_of_the_run():
    answer, _ = called(
        of_reference("paged"), "paged", {name: array.astype(np.float16) for name, array in drawn().items()}
    )
    assert answer.values["output"].dtype == np.float16


def test_a_process_of_its_own_is_called_in_the_layout():
    process = isolated(Target("reference", layout="paged_csr:page_size=4,int32"))
    with contextlib.closing(laid_out(process, "paged_csr:page_size=4,int32")) as implementation:
        answer = implementation.run(Request(OPERATION, "float32", as_float32(drawn(key_lengths=LENGTHS)), {}))
    here, _ = called(of_reference("paged_csr"), "paged_csr:page_size=4", as_float32(drawn(key_lengths=LENGTHS)))
    assert answer.values["output"].tobytes() == here.values["output"].tobytes()


def as_float32(inputs):
    return {name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in inputs.items()}


def test_tensors_of_another_library_are_handed_over():
    torch = pytest.importorskip("torch")

    def mine(query, key_pool, value_pool, block_table, key_lengths):
        assert isinstance(block_table, torch.Tensor)
        given = (tensor.numpy() for tensor in (query, key_pool, value_pool, block_table, key_lengths))
        return torch.tensor(attnspec_reference.paged_attention(*given).output)

    report = validate(mine, operation=OPERATION, layout="paged", profile="paged", tensors="torch")
    assert not report.wrong
    assert report.summary.counts["pass"] >= 4


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("pages", "There is no layout 'pages'; the layouts are .* Did you mean paged"),
        ("paged:page=16", "has no setting 'page=16'; its settings are page_size=NUMBER, strict_table"),
        ("paged:page_size", "has no setting 'page_size'"),
        ("paged_csr:strict_table", "has no setting 'strict_table'"),
        ("packed:page_size=16", "has no setting 'page_size=16'; its settings are int32"),
        ("paged:page_size=0", "a whole number of at least 1"),
    ],
)
def test_a_layout_that_does_not_exist_is_answered_by_a_sentence(word, words):
    with pytest.raises(UsageError, match=words):
        validate("reference", layout=word)
    with pytest.raises(TargetError, match=words):
        attnspec.load(SimpleNamespace(softmax=attnspec_reference.softmax, layout=word))


def test_an_option_may_stand_for_a_setting():
    assert layout_with_setting("paged", "strict_table") == "paged:strict_table"
    assert layout_with_setting("paged:page_size=4", "strict_table") == "paged:page_size=4,strict_table"
    with pytest.raises(UsageError, match="say --layout, one of paged, paged_heads_first"):
        layout_with_setting(None, "strict_table")
