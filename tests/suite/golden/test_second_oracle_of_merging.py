"""The golden cases of merged parts, recomputed by integers alone and by many digits: the bits are the same."""

from __future__ import annotations

import merging_multiprecision
import multiprecision
import numpy as np

from attnspec.cases import load_suite
from attnspec_oracle.by_integers import merged_row

CASES = [case for case in load_suite().cases.values() if case.operation == "merge_states" and case.expected]


def is_finite(inputs, row):
    """Whether every number of a row can be read that belongs to a part with keys."""
    sides = [side for side in "ab" if inputs[f"logsumexp_{side}"][row] != -np.inf]
    return all(np.isfinite(inputs[f"{name}_{side}"][row]).all() for side in sides for name in ("output", "logsumexp"))


def test_integers_alone_give_the_same_bits():
    compared = 0
    for case in CASES:
        golden = case.golden("float64")
        for row in np.ndindex(golden["logsumexp"].shape):
            if is_finite(case.inputs, row):
                computed = merged_row(case.inputs, row)
                assert computed.output == golden["output"][row].tolist(), (case.id, row)
                assert computed.logsumexp == golden["logsumexp"][row], (case.id, row)
                compared += 1
    assert compared > 700


def test_many_digits_give_the_same_bits():
    compared = 0
    for case in CASES:
        evaluation = multiprecision.evaluation("merge_states", case.inputs, case.attributes)
        assert isinstance(evaluation, merging_multiprecision.MergeStates)
        for output, array in case.golden("float64").items():
            for index in np.ndindex(array.shape):
                if is_finite(case.inputs, index[:3]):
                    wanted = multiprecision.correctly_rounded(evaluation, output, index)
                    assert array[index] == wanted, (case.id, output, index)
                    compared += 1
    assert compared > 2000
