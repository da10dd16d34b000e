"""Covering arrays: every pair that may meet does, whatever rows there are already."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from attnspec.base.errors import RecipeError
from attnspec_authoring.covering.construction import completed, pairs, pairs_of
from attnspec_authoring.covering.table import Row, read_rows, write_rows

FACTORS = {
    "a": ("0", "1", "2"),
    "b": ("0", "1", "2", "3"),
    "c": ("0", "1"),
    "d": ("0", "1", "2"),
}


def anything(_):
    return True


def not_both_large(levels):
    return not (levels.get("a") == "2" and levels.get("b") == "3")


def met(rows):
    return set().union(*(pairs_of(row) for row in rows))


def test_every_pair_is_one_of_two_factors():
    found = set(pairs(FACTORS))
    assert len(found) == sum(len(one) * len(other) for one, other in combinations(FACTORS.values(), 2))
    assert (("a", "2"), ("d", "0")) in found


def test_every_pair_meets_in_fewer_rows_than_there_are_combinations():
    rows, impossible = completed(FACTORS, anything)
    assert met(rows) == set(pairs(FACTORS))
    assert impossible == ()
    assert 12 <= len(rows) < len(list(product(*FACTORS.values()))) / 3


def test_no_row_holds_what_may_not_be():
    rows, impossible = completed(FACTORS, not_both_large)
    assert all(map(not_both_large, rows))
    assert impossible == ((("a", "2"), ("b", "3")),)
    assert met(rows) == set(pairs(FACTORS)) - set(impossible)


def test_a_dead_end_is_left_again():
    """Whatever has the second level of the first two factors needs the last level of the last, which gains nothing."""

    def needs(levels):
        return not (levels.get("a") == levels.get("b") == "1") or levels.get("d", "2") == "2"

    rows, impossible = completed(FACTORS, needs)
    assert (("a", "1"), ("b", "1")) in met(rows)
    assert impossible == ()


def test_rows_that_are_there_stay_and_count():
    rows, _ = completed(FACTORS, anything)
    assert completed(FACTORS, anything, rows).rows == rows
    wider = {**FACTORS, "b": (*FACTORS["b"], "4")}
    longer, _ = completed(wider, anything, rows)
    assert longer[: len(rows)] == rows
    assert all(row["b"] == "4" for row in longer[len(rows) :])
    assert met(longer) == set(pairs(wider))


def test_the_same_table_comes_out_every_time():
    assert completed(FACTORS, anything) == completed(dict(FACTORS), anything)


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = tuple(Row(levels, number) for number, levels in enumerate(completed(FACTORS, anything).rows))
    write_rows(tmp_path / "rows.txt", FACTORS, rows)
    assert read_rows(tmp_path / "rows.txt", FACTORS) == rows
    assert read_rows(tmp_path / "missing.txt", FACTORS) == ()


@pytest.mark.parametrize(
    ("factors", "reported"), [({"a": ("0",), "b": ("0",)}, "'1'"), ({"b": ("0",), "a": ("0", "1")}, "other columns")]
)
def test_rows_of_another_table_are_refused(factors, reported, tmp_path):
    write_rows(tmp_path / "rows.txt", {"a": (), "b": ()}, [Row({"a": "1", "b": "0"}, 0)])
    with pytest.raises(RecipeError, match=reported):
        read_rows(tmp_path / "rows.txt", factors)
