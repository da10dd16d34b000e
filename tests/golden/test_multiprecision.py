"""A hundred golden cases against an independent evaluation with 60 digits: no element differs in any bit."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import ml_dtypes
import multiprecision
import numpy as np
import pytest
import rotary_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported

GOLDEN = Path(__file__).parents[2] / "golden"
NUMBER_OF_CASES, SHARES, SEED = 100, 10, 20
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@cache
def documents():
    paths = sorted(path for path in GOLDEN.rglob("*.json") if path.parent != GOLDEN)
    return [document for document in map(read, paths) if "expected" in document]


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def tensor(stored):
    return np.array(stored["data"], dtype=stored["dtype"]).reshape(stored["shape"])


@cache
def chosen():
    """One case of every operation that has golden values, and others at random."""
    order = random.Random(SEED).sample(documents(), len(documents()))
    firsts = {document["operation"]: document for document in reversed(order)}
    others = [document for document in order if document not in firsts.values()]
    return [*firsts.values(), *others][:NUMBER_OF_CASES]


def rounded_to(array, dtype: str):
    if array.dtype != np.float64 or dtype in ("all", "float64"):
        return array
    with np.errstate(over="ignore"):
        return array.astype(DTYPES[dtype]).astype(np.float64)


def elements(document, outputs):
    """The stored elements of every output: its name, their indices, their values."""
    for output, stored in outputs.items():
        indices = document.get("sample", {}).get(output)
        if indices is None:
            values = tensor(stored).ravel()
            indices = range(values.size)
        else:
            values = np.array(stored["data"], dtype=stored["dtype"])
        for flat, value in zip(indices, values.tolist(), strict=True):
            yield output, tuple(map(int, np.unravel_index(flat, stored["shape"]))), value


def test_there_is_a_case_of_every_operation() -> None:
    assert {document["operation"] for document in chosen()} == {document["operation"] for document in documents()}
    assert len(chosen()) == min(NUMBER_OF_CASES, len(documents()))


# One share is a quick look; all of them are a proof, which takes its time.
@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.proof) for share in range(1, SHARES))])
def test_no_bit_differs(share: int) -> None:
    differences = []
    for document in chosen()[share::SHARES]:
        for dtype, outputs in document["expected"].items():
            inputs = {name: rounded_to(tensor(stored), dtype) for name, stored in document["inputs"].items()}
            evaluation = multiprecision.evaluation(document["operation"], inputs, document["attributes"])
            for output, index, value in elements(document, outputs):
                wanted = multiprecision.correctly_rounded(evaluation, output, index)
                if wanted is not None and not np.array_equal(value, wanted, equal_nan=True):
                    differences.append((document["id"], dtype, output, index, value, wanted))
    assert not differences, f"{len(differences)} elements differ, such as {differences[:3]}"


def test_a_neighbouring_number_would_be_noticed() -> None:
    document = next(document for document in chosen() if document["operation"] == "scaled_dot_product_attention")
    dtype, outputs = next(iter(document["expected"].items()))
    inputs = {name: rounded_to(tensor(stored), dtype) for name, stored in document["inputs"].items()}
    evaluation = multiprecision.evaluation(document["operation"], inputs, document["attributes"])
    compared = [
        (value, wanted)
        for output, index, value in elements(document, {"output": outputs["output"]})
        if (wanted := multiprecision.correctly_rounded(evaluation, output, index)) is not None
    ]
    assert compared
    assert all(value == wanted != np.nextafter(value, np.inf) for value, wanted in compared)
