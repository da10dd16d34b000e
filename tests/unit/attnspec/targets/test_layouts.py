"""The layout wrappers, compared with NumPy formulas that are written in each layout."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.base.errors import UsageError
from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import (
    Crashed,
    Declaration,
    Declined,
    Malformed,
    Outputs,
    Raised,
    Request,
    TimedOut,
)
from attnspec.families.lookup import family_of
from attnspec.targets.laid_out import laid_out

B, H, SQ, SK, E, EV = 2, 3, 4, 5, 2, 3

MASK_SHAPES = [
    None,
    (SQ, SK),
    (1, SK),
    (H, SQ, SK),
    (1, SQ, SK),
    (H, 1, SK),
    (B, H, SQ, SK),
    (B, 1, SQ, SK),
    (1, H, SQ, SK),
    (B, 1, 1, SK),
    (1, 1, SQ, SK),
]


def attend(query, key, value, mask=None):
    """Attention over the last two axes, whatever stands before them."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = shifted.sum(axis=-1, keepdims=True)
    weights = shifted / total
    logsumexp = (np.log(total) + scores.max(axis=-1, keepdims=True))[..., 0]
    return weights @ value, weights, logsumexp


def named(output, weights, logsumexp):
    return {"output": output, "weights": weights, "logsumexp": logsumexp}


def bhse(query, key, value, mask=None):
    assert query.ndim == key.ndim == value.ndim == 4
    return named(*attend(query, key, value, mask))


def bshe(query, key, value, mask=None):
    assert query.shape == (B, SQ, H, E)
    output, weights, logsumexp = attend(*(x.swapaxes(1, 2) for x in (query, key, value)), mask)
    return named(output.swapaxes(1, 2), weights, logsumexp)


def hse(query, key, value, mask=None):
    assert query.shape == (H, SQ, E)
    assert mask is None or mask.ndim <= 3
    return named(*attend(query, key, value, mask))


def she(query, key, value, mask=None):
    assert query.shape == (SQ, H, E)
    assert mask is None or mask.ndim <= 3
    output, weights, logsumexp = attend(*(x.swapaxes(0, 1) for x in (query, key, value)), mask)
    return named(output.swapaxes(0, 1), weights, logsumexp)


def se(query, key, value, mask=None):
    assert query.shape == (SQ, E)
    assert value.shape == (SK, EV)
    assert mask is None or mask.ndim == 2
    return named(*attend(query, key, value, mask))


LAYOUTS = ("bhse", "bshe", "hse", "she", "se")
SDPA = {"bhse": bhse, "bshe": bshe, "hse": hse, "she": she, "se": se}


def mha(query, key, value, *, w_query, w_key, w_value, w_output, num_heads, b_query=None, mask=None):
    """Multi-head attention on (S, D) or (B, S, D)."""

    def split(x):
        return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)

    queries = query @ w_query + (0 if b_query is None else b_query)
    output, weights, _ = attend(split(queries), split(key @ w_key), split(value @ w_value), mask)
    combined = np.moveaxis(output, -3, -2)
    return {"output": combined.reshape(*combined.shape[:-2], -1) @ w_output, "weights": weights}


def mha_without_batch(query, **others):
    assert query.ndim == 2
    return mha(query, **others)


DECLARATION = Declaration("fake", None, "fake", ("scaled_dot_product_attention",))


@dataclass
class Fake:
    """An implementation made of functions that take the request's tensors and give outputs by name."""

    functions: dict
    requests: list = field(default_factory=list)
    closed: int = 0
    declaration: Declaration = DECLARATION

    def run(self, request):
        self.requests.append(request)
        result = self.functions[request.operation](**request.inputs, **request.attributes)
        return Outputs(result) if isinstance(result, dict) else result

    def close(self):
        self.closed += 1


def sdpa_request(mask_shape=None, seed=0, **shapes):
    random = np.random.default_rng(seed)
    inputs = {
        "query": random.normal(size=shapes.get("query", (B, H, SQ, E))),
        "key": random.normal(size=shapes.get("key", (B, H, SK, E))),
        "value": random.normal(size=shapes.get("value", (B, H, SK, EV))),
    }
    if mask_shape is not None:
        inputs["mask"] = random.random(size=mask_shape) < 0.5
        inputs["mask"][..., 1] = True
    return Request("scaled_dot_product_attention", "float64", inputs, {})


def mha_request(mask_shape=None):
    random = np.random.default_rng(1)
    width = H * E
    inputs = {"query": random.normal(size=(B, SQ, width))}
    inputs |= {name: random.normal(size=(B, SK, width)) for name in ("key", "value")}
    inputs |= {name: random.normal(size=(width, width)) for name in ("w_query", "w_key", "w_value", "w_output")}
    inputs["b_query"] = random.normal(size=width)
    if mask_shape is not None:
        inputs["mask"] = random.random(size=mask_shape) < 0.5
        inputs["mask"][..., 1] = True
    return Request("multi_head_attention", "float64", inputs, {"num_heads": H})


def run_in(layout, request, **functions):
    fake = Fake(functions or {"scaled_dot_product_attention": SDPA[layout]})
    return laid_out(fake, layout).run(request), fake


def assert_same(answer, expected):
    assert isinstance(answer, Outputs), answer
    assert list(answer.values) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(answer.values[name], value, rtol=1e-13, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_right_implementation_in_any_layout_gives_the_contracts_answers(layout, mask_shape):
    request = sdpa_request(mask_shape)
    answer, fake = run_in(layout, request)
    assert_same(answer, bhse(**request.inputs))
    assert len(fake.requests) == {"bhse": 1, "bshe": 1, "hse": B, "she": B, "se": B * H}[layout]


@pytest.mark.parametrize("layout", ["bshe", "hse", "she", "se"])
def test_a_mask_that_comes_first_in_the_request_changes_nothing(layout):
    for shape in MASK_SHAPES[1:]:
        request = sdpa_request(shape)
        inputs = {name: request.inputs[name] for name in ("mask", "value", "key", "query")}
        answer, _ = run_in(layout, Request(request.operation, "float64", inputs, {}))
        assert_same(answer, bhse(**request.inputs))


@pytest.mark.parametrize("layout", ["bhse:int32", "bshe:int32"])
def test_whole_numbers_come_in_int32_where_a_layout_says_so(layout):
    def attention(query, key, value, key_lengths):
        assert key_lengths.dtype == np.int32
        assert query.dtype == np.float64
        return SDPA[layout.partition(":")[0]](query, key, value)

    request = sdpa_request()
    given = {**request.inputs, "key_lengths": np.full(B, SK)}
    answer, _ = run_in(layout, request._replace(inputs=given), scaled_dot_product_attention=attention)
    assert_same(answer, bhse(**request.inputs))
    assert given["key_lengths"].dtype == np.int64


@pytest.mark.parametrize("layout", ["bshe", "hse", "she", "se"])
def test_a_wrong_implementation_stays_wrong(layout):
    def keys_doubled(query, key, value, mask=None):
        return SDPA[layout](query=query, key=key * 2, value=value, mask=mask)

    request = sdpa_request((B, H, SQ, SK))
    answer, _ = run_in(layout, request, scaled_dot_product_attention=keys_doubled)
    assert isinstance(answer, Outputs)
    assert not np.allclose(answer.values["output"], bhse(**request.inputs)["output"])


def test_the_contracts_layout_instead_of_bshe_is_seen():
    # A kernel that takes (B, H, S, E) after all, run as one that takes (B, S, H, E): H and Sq are swapped.
    request = sdpa_request(key=(B, H, SQ, E), value=(B, H, SQ, EV))
    answer, _ = run_in("bshe", request, scaled_dot_product_attention=bhse)
    assert isinstance(answer, Outputs)
    assert answer.values["output"].shape == (B, H, SQ, EV)
    assert not np.allclose(answer.values["output"], bhse(**request.inputs)["output"])


@pytest.mark.parametrize("layout", ["bhse", "bshe"])
@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
def test_multi_head_attention_with_a_batch_axis_is_passed_on(layout, mask_shape):
    request = mha_request(mask_shape)
    answer, fake = run_in(layout, request, multi_head_attention=mha)
    assert_same(answer, mha(**request.inputs, num_heads=H))
    assert fake.requests[0] is request


@pytest.mark.parametrize("layout", ["hse", "se"])
@pytest.mark.parametrize("mask_shape", MASK_SHAPES, ids=str)
def test_multi_head_attention_without_a_batch_axis_is_called_for_each_entry(layout, mask_shape):
    request = mha_request(mask_shape)
    answer, fake = run_in(layout, request, multi_head_attention=mha_without_batch)
    assert_same(answer, mha(**request.inputs, num_heads=H))
    assert len(fake.requests) == B
    assert fake.requests[1].attributes == {"num_heads": H}


def turned(x, cos, sin):
    """The half pairing over the last axis; the tables fit the axes before it."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([cos * first - sin * second, sin * first + cos * second], axis=-1)


def angles(position_ids, inverse_frequencies):
    return position_ids[..., None] * inverse_frequencies


ROTATIONS = {
    "bshe": lambda x, cos, sin: turned(x, cos[:, :, None], sin[:, :, None]),
    "hse": turned,
    "se": turned,
    "features_first": lambda x, cos, sin: turned(x.T, cos.T, sin.T).T,
}
TABLES = {
    "hse": lambda **given: {"cos": np.cos(angles(**given)), "sin": np.sin(angles(**given))},
    "features_first": lambda **given: {"cos": np.cos(angles(**given)).T, "sin": np.sin(angles(**given)).T},
}


@pytest.mark.parametrize("layout", ROTATIONS)
def test_a_rotation_lies_as_queries_and_keys_do(layout):
    random, angle = np.random.default_rng(2), np.linspace(0, 5, B * SQ * 2).reshape(B, SQ, 2)
    inputs = {"x": random.normal(size=(B, H, SQ, 4)), "cos": np.cos(angle), "sin": np.sin(angle)}
    request = Request("apply_rotary", "float64", inputs, {})
    answer, _ = run_in(layout, request, apply_rotary=lambda **given: {"output": ROTATIONS[layout](**given)})
    assert_same(answer, {"output": turned(inputs["x"], inputs["cos"][:, None], inputs["sin"][:, None])})


@pytest.mark.parametrize("layout", TABLES)
def test_tables_without_a_batch_axis_are_made_for_each_entry(layout):
    positions, frequencies = np.arange(B * SQ).reshape(B, SQ), np.array([1.0, 0.1])
    request = Request("rotary_tables", "float64", {"position_ids": positions, "inverse_frequencies": frequencies}, {})
    answer, fake = run_in(layout, request, rotary_tables=TABLES[layout])
    angle = angles(positions, frequencies)
    assert_same(answer, {"cos": np.cos(angle), "sin": np.sin(angle)})
    assert len(fake.requests) == B


def test_an_operation_without_another_form_in_the_layout_is_named_as_such():
    fake = Fake({}, declaration=replace(DECLARATION, operations=("softmax", "apply_rotary")))
    stay = {layout: laid_out(fake, layout).declaration.not_arranged for layout in ("bshe", "features_first", "packed")}
    assert stay == {"bshe": ("softmax",), "features_first": (), "packed": ("softmax", "apply_rotary")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_operations_are_passed_on_as_they_are(layout):
    request = Request("softmax", "float64", {"x": np.zeros((2, 3))}, {"axis": 0})
    answer, fake = run_in(layout, request, softmax=lambda x, axis: {"output": x})
    assert isinstance(answer, Outputs)
    assert fake.requests[0] is request


def test_grouped_heads_have_no_meaning_without_a_head_axis():
    request = sdpa_request(query=(B, 6, SQ, E))
    answer, fake = run_in("se", request)
    assert isinstance(answer, Declined)
    assert "query has 6 where key has 3" in answer.reason
    assert fake.requests == []


def test_grouped_heads_get_to_an_implementation_that_has_a_head_axis():
    def grouped(query, key, value):
        assert query.shape == (6, SQ, E)
        return named(*attend(query, np.repeat(key, 2, axis=0), np.repeat(value, 2, axis=0)))

    request = sdpa_request(query=(B, 6, SQ, E))
    answer, _ = run_in("hse", request, scaled_dot_product_attention=grouped)
    repeated = {name: np.repeat(x, 2, axis=1) if name != "query" else x for name, x in request.inputs.items()}
    assert_same(answer, bhse(**repeated))


@pytest.mark.parametrize(
    ("layout", "mask_shape", "shapes"),
    [
        ("hse", None, {"query": (3, H, SQ, E)}),
        ("hse", None, {"query": (H, SQ, E)}),
        ("bshe", None, {"value": (H, SK, EV)}),
        ("hse", (3, 1, SQ, SK), {}),
        ("se", (2, SQ, SK), {}),
        ("se", (SK,), {}),
        ("se", (1, B, H, SQ, SK), {}),
        ("hse", None, {"query": (0, H, SQ, E), "key": (0, H, SK, E), "value": (0, H, SK, EV)}),
    ],
)
def test_what_would_be_lost_in_the_layout_is_declined(layout, mask_shape, shapes):
    # Otherwise an implementation would be blamed for not refusing what it never saw.
    answer, fake = run_in(layout, sdpa_request(mask_shape, **shapes))
    assert isinstance(answer, Declined)
    assert f"layout {layout}" in answer.reason
    assert fake.requests == []


@pytest.mark.parametrize(
    "other", [Declined("no"), Raised("boom"), Malformed("what"), Crashed("gone"), TimedOut("slow")]
)
def test_the_first_answer_that_is_no_output_is_the_answer(other):
    calls = []

    def second_call_fails(query, key, value):
        calls.append(query)
        return other if len(calls) == 2 else se(query, key, value)

    answer, _ = run_in("se", sdpa_request(), scaled_dot_product_attention=second_call_fails)
    assert answer is other
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"output": np.zeros((SQ, EV), dtype=np.float32)}, "float32"),
        ({"output": np.zeros((SQ, EV + 1))}, str((SQ, EV + 1))),
        ({"output": np.zeros((SQ, EV)), "weights": np.zeros((SQ, SK))}, "weights was returned in 1 of 6 calls"),
    ],
)
def test_outputs_that_do_not_fit_together_are_malformed(second, message):
    calls = []

    def changes_its_mind(query, key, value):
        calls.append(query)
        return second if len(calls) == 2 else {"output": np.zeros((SQ, EV))}

    answer, _ = run_in("se", sdpa_request(), scaled_dot_product_attention=changes_its_mind)
    assert isinstance(answer, Malformed)
    assert message in answer.message


def test_an_output_of_another_rank_is_left_for_the_verdict():
    answer, _ = run_in(
        "bshe", sdpa_request(), scaled_dot_product_attention=lambda **inputs: {"output": np.zeros((SQ, EV))}
    )
    assert isinstance(answer, Outputs)
    assert answer.values["output"].shape == (SQ, EV)


@pytest.mark.parametrize("layout", ["bshe", "hse", "se"])
def test_ordinary_tensors_stay_ordinary_and_the_request_is_not_touched(layout):
    request = sdpa_request((B, H, SQ, SK))
    before = {name: array.copy() for name, array in request.inputs.items()}
    _, fake = run_in(layout, request)
    for call in fake.requests:
        assert all(array.flags.c_contiguous and array.flags.writeable for array in call.inputs.values())
    for name, array in request.inputs.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_read_only_input_stays_read_only():
    request = sdpa_request()
    request.inputs["query"].flags.writeable = False
    _, fake = run_in("bshe", request)
    assert not fake.requests[0].inputs["query"].flags.writeable
    assert fake.requests[0].inputs["key"].flags.writeable


def test_an_unusual_memory_order_stays_unusual():
    request = sdpa_request()
    request.inputs["key"] = np.asfortranarray(request.inputs["key"])
    answer, fake = run_in("bshe", request)
    assert_same(answer, bhse(**request.inputs))
    assert not fake.requests[0].inputs["key"].flags.c_contiguous


def test_an_edit_of_memory_is_reported():
    def edits(query, key, value):
        key *= 2
        return bshe(query, key, value)

    answer, _ = run_in("bshe", sdpa_request(), scaled_dot_product_attention=edits)
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("key",)


def test_the_declaration_and_closing_go_through():
    fake = Fake({})
    wrapped = laid_out(fake, "hse")
    assert wrapped.declaration == replace(fake.declaration, requested_in="hse")
    wrapped.close()
    assert fake.closed == 1


def test_the_contracts_own_layout_needs_no_wrapper():
    fake = Fake({})
    assert laid_out(fake, "bhse") is fake


def test_features_first_is_a_layout_too():
    request = Request("softmax", "float64", {"x": np.zeros((2, 3))}, {})
    answer, fake = run_in("features_first", request, softmax=lambda x: {"output": x})
    assert answer.values["output"].shape == (2, 3)
    assert fake.requests[0].inputs["x"].shape == (3, 2)


def test_an_unknown_layout_is_named_with_the_known_ones():
    with pytest.raises(
        UsageError, match=r"no layout 'BSHE'.*bhse, bshe, hse, she, se, features_first.*Did you mean bshe"
    ):
        laid_out(Fake({}), "BSHE")


WITH_A_PAST = """
import numpy as np
import attnspec_reference

layout = "bshe"
dtypes = ("float64",)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, is_causal=False,
                                 causal_alignment="top_left"):
    given = {"query": query, "key": key, "value": value, "past_key": past_key, "past_value": past_value}
    given = {name: np.swapaxes(array, 1, 2) for name, array in given.items() if array is not None}
    found = attnspec_reference.scaled_dot_product_attention(
        **given, mask=mask, is_causal=is_causal, causal_alignment=causal_alignment
    )
    names = ("output", "present_key", "present_value")
    return {name: np.swapaxes(getattr(found, name), 1, 2) for name in names if getattr(found, name) is not None}
"""


def test_a_past_lies_as_the_keys_do(tmp_path):
    path = tmp_path / "with_a_past.py"
    path.write_text(WITH_A_PAST)
    report = attnspec.validate(str(path), select="cache/*", without=("scale",))
    assert not [(result.case.id, result.verdict.message) for result in report.results if result.is_wrong]
    passed = [result for result in report.results if result.status == "pass"]
    assert any("past_key" in result.case.inputs for result in passed)


class OneEntryAtATime:
    """The reference, of one batch entry: tensors without that axis, and lengths as single numbers."""

    dtypes = ("float64",)

    def __init__(self, layout):
        self.layout = layout
        self.seen = set()

    def scaled_dot_product_attention(
        self,
        query,
        key,
        value,
        mask=None,
        past_key=None,
        past_value=None,
        key_lengths=None,
        query_lengths=None,
        sinks=None,
        alibi_slopes=None,
        query_scale=None,
        key_scale=None,
        value_scale=None,
        **attributes,
    ):
        of_heads, is_column = self.layout == "hse", self.layout == "features_first"
        tokens = {"query": query, "key": key, "value": value, "past_key": past_key, "past_value": past_value}
        singles = {"key_lengths": key_lengths, "query_lengths": query_lengths}
        heads = {"sinks": sinks, "alibi_slopes": alibi_slopes}
        scales = {"query_scale": query_scale, "key_scale": key_scale, "value_scale": value_scale}
        given = {"mask": mask, **singles, **heads, **scales}
        self.seen |= {name for name, array in {**tokens, **given}.items() if array is not None}
        assert all(array is None or array.ndim == 2 + of_heads for array in tokens.values())
        assert all(array is None or array.ndim == 0 for array in singles.values())
        assert all(array is None or array.ndim == of_heads for array in heads.values())
        assert all(array is None or array.ndim <= of_heads for array in scales.values())
        lead = (np.newaxis,) if of_heads else (np.newaxis, np.newaxis)
        turn = np.transpose if is_column else np.asarray
        whole = {name: turn(array)[lead] for name, array in tokens.items() if array is not None}
        whole |= {name: array[None] for name, array in singles.items() if array is not None}
        whole |= {name: np.atleast_1d(array) for name, array in heads.items() if array is not None}
        whole |= {name: array for name, array in scales.items() if array is not None}
        found = attnspec_reference.scaled_dot_product_attention(
            **whole, mask=turn(mask) if mask is not None else None, **attributes
        )
        entry = 0 if of_heads else (0, 0)
        named = {name: array[entry] for name, array in found._asdict().items() if array is not None}
        return {name: turn(array) for name, array in named.items()}


ARGUMENTS_WITH_A_BATCH = {"past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "mask"}


@pytest.mark.parametrize("layout", ["hse", "se", "features_first"])
def test_every_argument_is_cut_to_the_entry_that_is_called(layout):
    one = OneEntryAtATime(layout)
    report = attnspec.validate(one, profile=("cache", "varlen", "sinks", "alibi", "masking", "quantized"), probes=False)
    assert not [(result.case.id, result.verdict.message) for result in report.results if result.is_wrong]
    assert {*ARGUMENTS_WITH_A_BATCH, "query_scale", "key_scale", "value_scale"} <= one.seen


@pytest.mark.parametrize("layout", ["hse", "se", "features_first"])
def test_no_tensor_keeps_an_axis_that_its_layout_lacks(layout):
    for operation in OPERATIONS.values():
        family = family_of(operation.name)
        arranging = family.layouts().get(layout)
        arrangement = arranging.operations.get(operation.name) if arranging else None
        if arrangement is None:
            continue
        lacking = {"batch entry"} if layout == "hse" or operation.name == "multi_head_attention" else DROPPED
        for name, axes in operation.axes.items():
            if lacking & set(axes) and not operation.outputs_by_name.get(name):
                assert arrangement.tensors[name].called_once_each, (operation.name, name)


DROPPED = {"batch entry", "head", "query head", "key head"}
