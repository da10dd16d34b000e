"""The ranking: over the runs that all had compared, the most accurate first."""

import pytest

from attnspec.reports.written_reports import rank, ratio


def document(**runs):
    """A document of runs `case` to (median, worst), or None for one that was not compared."""
    return {
        "results": [
            {
                "case": case,
                "dtype": "float64",
                "median": None if numbers is None else numbers[0],
                "worst": None if numbers is None else {"ratio": numbers[1]},
                "graded": 0 if numbers is None else 4,
            }
            for case, numbers in runs.items()
        ]
    }


def test_only_runs_that_all_had_compared_count():
    one = document(a=(0.1, 0.2), b=(0.3, 0.9), c=(0.9, 0.95))
    other = document(a=(0.2, 0.4), b=(0.1, 0.5), c=None)
    first, second = rank([one, other], ["one", "other"])
    assert (first.name, first.position, first.median, first.worst, first.runs) == ("other", 1, 0.2, 0.5, 2)
    assert (second.name, second.position, second.median, second.worst, second.runs) == ("one", 0, 0.3, 0.9, 2)


def test_an_error_beyond_tolerance_comes_last_however_small_the_median():
    ranked = rank([document(a=(0.0, "inf")), document(a=(0.5, 0.8)), document(a=(0.0, 3.0))], ["x", "y", "z"])
    assert [entry.name for entry in ranked] == ["y", "z", "x"]


def test_equals_keep_their_order():
    assert [entry.position for entry in rank([document(a=(0.1, 0.1))] * 3, ["x", "y", "z"])] == [0, 1, 2]


def test_nothing_in_common_is_no_ranking():
    assert rank([document(a=(0.1, 0.1)), document(b=(0.1, 0.1))], ["x", "y"]) == ()


@pytest.mark.parametrize(("written", "read"), [(None, None), ("inf", float("inf")), ("nan", float("inf")), (0.5, 0.5)])
def test_a_ratio_that_is_no_number_is_infinite(written, read):
    assert ratio(written) == read
