"""Mistakes of a layout are named where it is requested, and nowhere else."""

from types import SimpleNamespace

import pytest

from attnspec.contract import CLAUSES_INSTEAD
from attnspec.contract.layout import clause_in, layouts_of_clause
from attnspec.specification import clauses
from attnspec.validation import validate
from attnspec_mistakes import CATALOGUE

MISTAKES = {mistake.id: mistake for mistake in CATALOGUE if mistake.in_layout}


def report_of(mistake, layout, probes=False):
    holder = SimpleNamespace(**{mistake.operation: mistake.in_layout[layout]}, name=mistake.id, layout=layout)
    return validate(holder, profile="paged", probes=probes)


@pytest.mark.parametrize(
    ("identifier", "layout"),
    [
        ("sdpa.page_too_many", "paged"),
        ("sdpa.page_too_many", "paged_heads_first"),
        ("sdpa.page_list_from_the_beginning", "paged_csr"),
        ("sdpa.last_page_length_ignored", "paged_csr_heads_first"),
        ("sdpa.packed_aligned_by_the_whole", "packed"),
    ],
)
def test_a_mistake_is_named_in_the_layouts_in_which_it_is_made(identifier, layout):
    (first, *_) = report_of(MISTAKES[identifier], layout).diagnosis
    assert (first.mistake, first.clause) == (identifier, MISTAKES[identifier].clause)


def test_a_second_call_with_other_contents_is_not_called_a_repetition():
    report = report_of(MISTAKES["sdpa.page_tail_weighed"], "paged")
    again = [result for result in report.wrong if result.same_bits is False]
    assert again
    assert {result.verdict.check for result in report.wrong} == {"values"}
    assert all("with other contents where nothing may be read" in result.verdict.message for result in again)


def test_a_mistake_is_made_in_every_layout_or_in_its_own():
    of_all = next(mistake for mistake in CATALOGUE if mistake.id == "sdpa.scale_missing")
    of_table = MISTAKES["sdpa.page_too_many"]
    assert of_all.is_made_in(None)
    assert of_all.is_made_in("paged")
    assert not of_table.is_made_in(None)
    assert not of_table.is_made_in("packed")
    assert of_table.is_made_in("paged_heads_first")
    assert len(MISTAKES) >= 24


def test_clauses_about_arguments_that_a_layout_has_not_give_way_to_its_own():
    assert clause_in("sdpa.key_lengths.alignment", "packed") == "sdpa.packed.position"
    assert clause_in("sdpa.key_lengths.exclusion", "paged_csr:page_size=16") == "sdpa.paged.list_length"
    assert clause_in("sdpa.key_lengths.alignment", None) == "sdpa.key_lengths.alignment"
    assert clause_in("sdpa.softcap.order", "packed") == "sdpa.softcap.order"
    for layout, instead in CLAUSES_INSTEAD.items():
        assert {*instead} <= {*clauses()}
        assert all(layout in layouts_of_clause(clause) for clause in instead.values())


def test_what_was_measured_leaves_the_clauses_of_a_layout_to_be_reported():
    (first, *_) = report_of(MISTAKES["sdpa.packed_aligned_by_the_whole"], "packed", probes=True).diagnosis
    assert all("sdpa.packed.position" in law.clauses for law in first.laws)


def test_a_call_that_is_wrong_at_times_depends_on_what_must_not_be_read():
    (first, *_) = report_of(MISTAKES["sdpa.page_tail_weighed"], "paged", probes=True).diagnosis
    (law,) = first.laws
    assert (law.kind, law.clauses) == ("unread", ("sdpa.paged.unread",))
