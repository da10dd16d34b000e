"""A hundred golden cases against an independent evaluation with 60 digits: no element differs in any bit."""

from __future__ import annotations

import random
from functools import cache

import backward_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported
import caches_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported
import merging_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported
import multiprecision
import norms_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported
import numpy as np
import pytest
import rotary_multiprecision  # noqa: F401 - the operations that it knows are found when it is imported
from stated_cases import documents, rounded_to, tensor

NUMBER_OF_CASES, SHARES, SEED = 100, 10, 20


def is_rounded(document) -> bool:
    """Whether there is something to round: the elements of a mask are truth values, whole numbers, 0 and infinity."""
    return document["operation"] != "attention_mask"


@cache
def chosen():
    """One case of every operation that has golden values, and others at random."""
    order = list(filter(is_rounded, random.Random(SEED).sample(documents(), len(documents()))))
    firsts = {document["operation"]: document for document in reversed(order)}
    others = [document for document in order if document not in firsts.values()]
    return [*firsts.values(), *others][:NUMBER_OF_CASES]


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


def is_open(document, value, wanted) -> bool:
    """What an infinity reaches among gradients: the page asks nothing there, and the file says NaN."""
    return "grad_output" in document["inputs"] and bool(np.isnan(value)) and bool(np.isinf(wanted))


def test_there_is_a_case_of_every_operation() -> None:
    every = {document["operation"] for document in filter(is_rounded, documents())}
    assert {document["operation"] for document in chosen()} == every
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
                if wanted is None or is_open(document, value, wanted):
                    continue
                if not np.array_equal(value, wanted, equal_nan=True):
                    differences.append((document["id"], dtype, output, index, value, wanted))
    assert not differences, f"{len(differences)} elements differ, such as {differences[:3]}"


def test_a_neighbouring_number_would_be_noticed() -> None:
    document = next(document for document in documents() if document["id"] == "core/more_queries_than_keys")
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
