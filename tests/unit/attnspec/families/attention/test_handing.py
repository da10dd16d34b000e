"""What is handed over under declared conventions is what the forward pass of who declares them has stored."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite
from attnspec.cases.generator import Generated
from attnspec.runner import inputs_in_c_order, prepare_suite
from attnspec_reference import scaled_dot_product_attention_backward as reference

NAME = "scaled_dot_product_attention_backward"
BASE_2 = ({"logsumexp_base": "2"}, math.log(2), 1 / math.log(2))


def validated(backward, declared, select, dtypes=("float64", "float32")):
    holder = SimpleNamespace(**{NAME: backward}, dtypes=dtypes, conventions=declared)
    return {result.status for result in attnspec.validate(holder, select=select, probes=False).results}


def handed(declared, case):
    seen = []

    def backward(**arguments):
        seen.append(arguments)
        return reference(**{**arguments, "logsumexp": None})

    validated(backward, declared, f"backward/{case}", ["float64"])
    return seen[0]


def to_base_2(logsumexp=None, grad_logsumexp=None, **arguments):
    """Gradients by who reckons in powers of two."""
    dtype = arguments["query"].dtype
    if logsumexp is not None:
        logsumexp = (logsumexp.astype(np.float64) * math.log(2)).astype(dtype)
    if grad_logsumexp is not None:
        grad_logsumexp = (grad_logsumexp.astype(np.float64) / math.log(2)).astype(dtype)
    return reference(logsumexp=logsumexp, grad_logsumexp=grad_logsumexp, **arguments)


def test_who_declares_base_2_is_right_in_base_2():
    assert validated(to_base_2, {"logsumexp_base": "2"}, ["backward/stored*", "backward/sinks*"]) == {"pass"}


@pytest.mark.parametrize("case", ["stored_logsumexp", "grad_logsumexp"])
def test_who_does_not_declare_it_is_wrong_in_base_2(case):
    assert validated(to_base_2, {}, f"backward/{case}") == {"fail"}


def test_a_row_without_keys_has_the_declared_infinity():
    for choice, infinity in (("minus_infinity", -np.inf), ("plus_infinity", np.inf)):
        (row,) = {*handed({"empty_logsumexp": choice}, "stored_dead_row")["logsumexp"][0, :, 1].tolist()}
        assert row == infinity


@pytest.mark.parametrize(("case", "raises"), [("stored_alibi_causal", True), ("stored_alibi", False)])
def test_a_bias_by_column_raises_the_logarithm_of_causal_rows(case, raises):
    natural, raised = (handed({"alibi_bias": choice}, case)["logsumexp"] for choice in ("distance", "column"))
    position = np.array([0.25, 1.5]).reshape(1, 2, 1) * np.arange(5)
    np.testing.assert_allclose(raised - natural, raises * np.broadcast_to(position, raised.shape), atol=1e-12)


def test_a_long_case_is_drawn_in_the_dtype_of_the_run_alone(monkeypatch):
    """In float64, which is what reading an input gives, its tensors would take twice the memory beside."""
    drawn = set()
    whole = Generated.whole

    def noted(generated, dtype="float64"):
        drawn.add(dtype)
        return whole(generated, dtype)

    monkeypatch.setattr(Generated, "whole", noted)
    suite = load_suite(select=["long/thousands/causal_1000"])
    (run,) = prepare_suite(suite, "scaled_dot_product_attention", ["float32"])
    assert inputs_in_c_order(run)["query"].dtype == np.float32
    assert drawn == {"float32"}
