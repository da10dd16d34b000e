"""Gradients against digits, against integers and against differences of the certified forward pass."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import backward_multiprecision  # noqa: F401 - the operation is found when it is imported
import multiprecision
import numpy as np
import pytest
from stated_cases import tensor

from attnspec_oracle import evaluate
from attnspec_oracle.by_integers import attention_gradients

GOLDEN = Path(__file__).parents[3] / "golden" / "backward"
BACKWARD, FORWARD = "scaled_dot_product_attention_backward", "scaled_dot_product_attention"
SEED = 13
WITH_DIGITS, BY_INTEGERS, BY_DIFFERENCES = 60, 24, 30
MOST_SCORES = 130
"""Cases of so many scores take the slower ways no longer than a moment."""
STEP = 2.0**-16
MOVED = {"grad_query": "query", "grad_key": "key", "grad_value": "value", "grad_mask": "mask", "grad_sinks": "sinks"}


@cache
def documents():
    """Every case that is graded and finite, with its inputs and its golden values, in an order that is drawn."""
    found = []
    for path in sorted(GOLDEN.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "expected" not in document:
            continue
        inputs = {name: tensor(stored) for name, stored in document["inputs"].items()}
        golden = {name: tensor(stored) for name, stored in document["expected"]["all"].items()}
        excluding = {"mask", "logsumexp"}
        finite = all(
            (np.isfinite(array) | (name in excluding and np.isneginf(array))).all()
            for name, array in inputs.items()
            if array.dtype != np.bool_
        )
        if finite and inputs["query"][..., 0].size * inputs["key"].shape[2] <= MOST_SCORES:
            found.append((document["id"], inputs, document["attributes"], golden))
    return random.Random(SEED).sample(found, len(found))


def test_sixty_elements_with_sixty_digits() -> None:
    draw = random.Random(SEED)
    compared, different = 0, []
    for case, inputs, attributes, golden in documents():
        if compared >= WITH_DIGITS:
            break
        evaluation = multiprecision.evaluation(BACKWARD, inputs, attributes)
        for output, array in golden.items():
            if not array.size:
                continue
            index = tuple(draw.randrange(length) for length in array.shape)
            wanted = multiprecision.correctly_rounded(evaluation, output, index)
            if wanted is None:
                continue
            compared += 1
            if wanted != array[index]:
                different.append((case, output, index, array[index], wanted))
    assert compared >= WITH_DIGITS
    assert not different, different[:3]


def test_the_second_oracle_gives_the_same_bits() -> None:
    compared = 0
    for case, inputs, attributes, golden in documents()[:BY_INTEGERS]:
        got = attention_gradients(inputs, attributes)
        for output, array in golden.items():
            found = got[output].ravel().tolist()
            assert None not in found, (case, output)
            np.testing.assert_array_equal(np.array(found).reshape(array.shape), array, err_msg=f"{case}, {output}")
            compared += array.size
    assert compared > 1000


def loss(inputs, attributes):
    """What has these gradients: the sum of the results, each times its gradient, over the queries that count."""
    taken = {name: array for name, array in inputs.items() if not name.startswith("grad_")}
    taken = {name: array for name, array in taken.items() if name not in ("output", "logsumexp")}
    results = evaluate(FORWARD, taken, attributes, outputs=("output", "logsumexp"))
    total = (results["output"] * inputs["grad_output"]).sum()
    if "grad_logsumexp" in inputs:
        counts = np.isfinite(results["logsumexp"])
        total += (np.where(counts, results["logsumexp"], 0) * inputs["grad_logsumexp"]).sum()
    return total


@pytest.mark.parametrize("output", MOVED)
def test_differences_of_the_certified_forward_pass_agree(output: str) -> None:
    draw = random.Random(f"{SEED}/{output}")
    compared = 0
    for case, inputs, attributes, golden in documents():
        if compared >= BY_DIFFERENCES // len(MOVED):
            break
        if output not in golden or not golden[output].size:
            continue
        name = MOVED[output]
        index = tuple(draw.randrange(length) for length in golden[output].shape)
        if not np.isfinite(inputs[name][index]):
            continue
        moved = []
        for step in (STEP, -STEP):
            array = inputs[name].copy()
            array[index] += step
            moved.append(loss({**inputs, name: array}, attributes))
        slope = (moved[0] - moved[1]) / (2 * STEP)
        scale = max(1.0, np.abs(golden[output]).max(), np.abs(inputs["grad_output"]).max(initial=0.0))
        assert abs(slope - golden[output][index]) < 1e-6 * scale, (case, index)
        compared += 1
    assert compared == BY_DIFFERENCES // len(MOVED)
