"""What some results came to: the counts add up, and parts are counted like the whole."""

import numpy as np
import pytest

import attnspec
from attnspec.reports.report import summarise


class HalfOfIt:
    """A softmax that overflows; everything else is not offered."""

    dtypes = ("float64",)

    def softmax(self, x, axis=-1):
        exponentials = np.exp(x)
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


@pytest.fixture(scope="module")
def report():
    return attnspec.validate(HalfOfIt(), profile=["layout", "documents"])


def test_the_counts_of_the_profiles_add_up(report):
    profiles = report.by_profile.values()
    assert list(report.by_profile) == ["documents", "layout"]
    for status, count in report.summary.counts.items():
        assert sum(summary.counts.get(status, 0) for summary in profiles) == count
    assert sum(summary.elements_graded for summary in profiles) == report.summary.elements_graded > 0
    assert sum(report.summary.counts.values()) == len(report.results)


def test_a_profile_is_counted_like_a_whole_report(report):
    for profile, summary in report.by_profile.items():
        assert summary == summarise([result for result in report.results if result.case.profile == profile])


def test_one_family_is_the_whole(report):
    assert list(report.by_family.values()) == [report.summary]


def test_nothing_graded_does_not_conform(report):
    unsupported = [result for result in report.results if result.status == "unsupported"]
    assert summarise(unsupported).conformance == "does not conform"
    assert summarise(unsupported).median is None


def test_some_clauses_graded_is_conformance_in_part(report):
    right = [result for result in report.results if not result.is_wrong]
    assert summarise(right).conformance == "conforms in part"
    assert summarise([result for result in right if result.status == "pass"]).conformance == "conforms"
