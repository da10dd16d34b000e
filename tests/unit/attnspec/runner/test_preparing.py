"""Preparing a case: parts that do not fit each other, as an outsider's may not, and inputs that are demanded."""

import json
from collections import Counter
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.base.errors import FixtureError
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases import load_suite
from attnspec.process.messages import read_started
from attnspec.process.served_messages import started_message
from attnspec.runner import run_suite
from attnspec.targets import load

STORED = Path(__file__).parents[3] / "examples" / "right" / "stored_backward.py"
stored_backward = SimpleNamespace(**run_path(str(STORED)))
SINGLE = "documents/000/single_head"
BACKWARD = "scaled_dot_product_attention_backward"


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {"scale": "big"}},
        {"attributes": {"scale": [1.0, 2.0]}},
        {"inputs": {"w_query": {"dtype": "float64", "shape": [1, 1], "data": [[1.0]]}}},
    ],
)
def test_parts_that_do_not_fit_are_reported_in_a_sentence(change, tmp_path: Path):
    case = json.loads((GOLDEN_FOLDER / f"{SINGLE}.json").read_bytes())
    for part, entries in change.items():
        case[part] |= entries
    path = tmp_path / f"{SINGLE}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(case), "utf-8")
    with pytest.raises(FixtureError, match=f"The case '{SINGLE}' cannot be graded, because its inputs and attributes"):
        attnspec.validate("reference", golden=tmp_path)


def gradients_by(backward, select="backward/*"):
    """Run golden cases of the backward pass against a function, in the dtypes of the example."""
    target = SimpleNamespace(
        dtypes=stored_backward.dtypes, conventions=stored_backward.conventions, **{BACKWARD: backward}
    )
    return run_suite(load_suite(select=[select]), load(target))


def test_results_of_the_forward_pass_are_handed_over_where_they_are_demanded():
    results = gradients_by(stored_backward.scaled_dot_product_attention_backward)
    assert not [result for result in results if result.is_wrong]
    passes = [result for result in results if result.status == "pass"]
    assert min(Counter(result.dtype for result in passes).values()) > 100
    golden = load_suite(select=["backward/*"]).cases
    assert sum("output" in golden[result.case.id].inputs for result in passes) < len(passes) / 2


def test_what_is_demanded_is_of_the_numbers_that_the_run_sees():
    golden = load_suite(select=["backward/plain"]).cases["backward/plain"]
    handed = []

    def backward(grad_output, query, key, value, output, logsumexp):
        handed.append((output, logsumexp))
        return stored_backward.scaled_dot_product_attention_backward(grad_output, query, key, value, output, logsumexp)

    gradients_by(backward, "backward/plain")
    assert "output" not in golden.inputs
    assert handed
    for output, logsumexp in handed:
        assert output.dtype == logsumexp.dtype
        assert output.shape == golden.inputs["grad_output"].shape
        assert logsumexp.shape == output.shape[:-1]


def test_who_uses_it_wrongly_is_wrong():
    def backward(grad_output, query, key, value, output, logsumexp):
        return stored_backward.scaled_dot_product_attention_backward(
            grad_output, query, key, value, 2 * output, logsumexp
        )

    assert {result.status for result in gradients_by(backward, "backward/plain")} == {"fail"}


@pytest.mark.parametrize("case", ["backward/scores_beyond_float16_softcap", "backward/rejects_rank_3_of_query"])
def test_what_no_forward_pass_gives_is_unsupported_and_never_none(case):
    def backward(grad_output, query, key, value, output, logsumexp, softcap=None, scale=None):
        assert output is not None
        assert logsumexp is not None
        return np.zeros(3)

    results = gradients_by(backward, case)
    assert [result.verdict.message for result in results if result.status == "unsupported"]
    assert "error" not in {result.status for result in results}


@pytest.mark.parametrize("layout", ["bhse", "bshe", "features_first"])
def test_a_scale_that_is_demanded_is_that_of_the_page_where_a_case_states_none(layout):
    given = []

    def attention(query, key, value, sm_scale):
        given.append(sm_scale)
        tokens, heads = {"bhse": (2, 1), "bshe": (1, 2), "features_first": (1, 0)}[layout], query.ndim == 4
        q, k, v = (np.moveaxis(each, tokens, (2, 1)) if heads else each.T for each in (query, key, value))
        scores = sm_scale * np.einsum("...qe,...ke->...qk", q, k)
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
        output = weights / weights.sum(-1, keepdims=True) @ v
        return np.moveaxis(output, (2, 1), tokens) if heads else output.T

    report = attnspec.validate(
        attention,
        operation="scaled_dot_product_attention",
        layout=layout,
        renames={"sm_scale": "scale"},
        without=("grouped_query", "empty_keys"),
        profile=("core", "causal"),
        probes=False,
    )
    assert not [(result.case.id, result.verdict.message) for result in report.results if result.is_wrong]
    passes = [result for result in report.results if result.status == "pass"]
    assert len([result for result in passes if "scale" not in result.case.attributes]) > 20
    assert None not in given


def test_a_scale_that_is_demanded_has_the_width_of_a_head():
    def layer(query, key, value, w_query, w_key, w_value, w_output, num_heads, scale, mask=None):
        assert scale == pytest.approx((query.shape[-1] / num_heads) ** -0.5)
        return attnspec_reference.multi_head_attention(
            query, key, value, w_query, w_key, w_value, w_output, num_heads=num_heads, mask=mask, scale=scale
        )[0]

    report = attnspec.validate(layer, operation="multi_head_attention", without=("scale",), probes=False)
    assert not [(result.case.id, result.verdict.message) for result in report.results if result.is_wrong]
    assert sum(result.status == "pass" for result in report.results) > 20


def test_a_demand_survives_the_protocol():
    declaration = load(str(STORED)).declaration
    assert declaration.demands == {BACKWARD: ("output", "logsumexp")}
    assert read_started(started_message(declaration, "base64"), declaration.adapter).declaration.demands == (
        declaration.demands
    )
