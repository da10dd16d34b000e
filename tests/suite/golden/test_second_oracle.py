"""A sample of the golden attention cases, recomputed by integers alone: the bits are the same."""

from __future__ import annotations

import math
import random
from functools import cache

import numpy as np
import pytest
from stated_cases import documents, rounded_to, tensor

from attnspec_oracle.by_integers import attention_row

NUMBER_OF_CASES, LEAST_COMPARED, SHARES, SEED = 60, 30, 4, 5
ROWS = 40
"""So many rows of a case are compared, spread over it."""
COMPARED = ("output", "weights", "logsumexp")


@cache
def chosen():
    found = [document for document in documents() if document["operation"] == "scaled_dot_product_attention"]
    return random.Random(SEED).sample(found, min(NUMBER_OF_CASES, len(found)))


def can_be_recomputed(document) -> bool:
    """The second oracle knows no NaN and no infinity, but for the infinities of masks."""
    arrays = {name: tensor(stored) for name, stored in document["inputs"].items()}
    return all(
        np.isfinite(array).all() or (name == "mask" and not np.isnan(array).any() and (array < np.inf).all())
        for name, array in arrays.items()
    )


def stored_rows(document, outputs):
    """Row of (batch item, head, query) to its stored elements: output name, position in the row, value."""
    rows = {}
    for output in COMPARED:
        if output not in outputs:
            continue
        stored = outputs[output]
        flat = document.get("sample", {}).get(output, range(math.prod(stored["shape"])))
        values = np.array(stored["data"], dtype=np.float64).ravel()
        for index, value in zip(flat, values.tolist(), strict=True):
            position = tuple(map(int, np.unravel_index(index, stored["shape"])))
            rows.setdefault(position[:3], []).append((output, position[3] if len(position) == 4 else None, value))
    step = max(1, len(rows) // ROWS)
    return dict(list(rows.items())[::step])


def differences(document):
    for dtype, outputs in document["expected"].items():
        inputs = {name: rounded_to(tensor(stored), dtype) for name, stored in document["inputs"].items()}
        for row, elements in stored_rows(document, outputs).items():
            got = attention_row(inputs, document["attributes"], row)
            for output, position, value in elements:
                found = got.logsumexp if position is None else getattr(got, output)[position]
                if found != value:
                    yield document["id"], dtype, row, output, position, value, found


# One share is a quick look; all of them are a proof, which takes its time.
@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.proof) for share in range(1, SHARES))])
def test_no_bit_differs(share: int) -> None:
    different = [
        found for document in chosen()[share::SHARES] if can_be_recomputed(document) for found in differences(document)
    ]
    assert not different, f"{len(different)} elements differ, such as {different[:3]}"


def test_enough_cases_are_compared() -> None:
    assert sum(map(can_be_recomputed, chosen())) >= LEAST_COMPARED
