"""Wrong implementations, written after bug reports and without a line of the reference: a case fails each of them."""

import inspect
from collections import Counter

import pytest
from wrong import TABLE

from attnspec.targets import load


def judged_in(wrong):
    """What is wrong in half precision alone must fail in each dtype that it offers."""
    dtypes = wrong.implementation.dtypes
    return ["float64"] if "float64" in dtypes else dtypes


JUDGED = [(wrong, dtype) for wrong in TABLE for dtype in judged_in(wrong)]
QUICK = JUDGED[::15]
"""Some of each batch; that a case fails the others is a proof, which takes its time."""


@pytest.mark.parametrize(
    ("wrong", "dtype"),
    [
        pytest.param(*pair, id=f"{pair[0].id}-{pair[1]}", marks=() if pair in QUICK else pytest.mark.proof)
        for pair in JUDGED
    ],
)
def test_a_case_fails_it(wrong, dtype, examiner):
    failure = examiner.first_failure(load(wrong.implementation()), [dtype])
    assert failure is not None
    assert failure.status in ("fail", "error")


def test_every_one_has_a_report_of_its_own_and_says_what_is_wrong():
    assert Counter(wrong.batch for wrong in TABLE) == {1: 40, 2: 40, 3: 40, 4: 40, 5: 19, 6: 13}
    assert len({wrong.id for wrong in TABLE}) == len({wrong.link for wrong in TABLE}) == len(TABLE)
    assert [wrong.id for wrong in TABLE if wrong.implementation.__doc__ is None] == []
    own = {wrong.id: inspect.getdoc(wrong.implementation) for wrong in TABLE}
    assert len(set(own.values())) == len(own)
