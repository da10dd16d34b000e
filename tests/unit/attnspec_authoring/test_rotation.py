"""A share at a time: all is due without shares, and every name is due in one of a few digests."""

import pytest

from attnspec.base.errors import UsageError
from attnspec_authoring import rotation
from attnspec_authoring.rotation import VARIABLE, is_due, selection

NAMES = [f"core/case_{number}" for number in range(300)]


def due():
    return {name for name in NAMES if is_due(name)}


def test_everything_is_due_where_nothing_is_said(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert due() == set(NAMES)


def test_a_share_is_due_and_the_same_each_time(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    assert 60 < len(due()) < 140
    assert due() == due()


def test_another_share_is_due_when_something_has_changed(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    ever = set()
    for change in range(20):
        monkeypatch.setattr(rotation, "_digest", lambda change=change: str(change))
        ever |= due()
    assert len(ever) > 295


def test_as_many_are_selected_as_are_wanted_whatever_the_shares(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    assert len(selection(NAMES, 20)) == 20
    assert selection(NAMES, 20) == selection(reversed(NAMES), 20) < selection(NAMES, 40)
    assert selection(NAMES, 1000) == set(NAMES)


def test_others_are_selected_when_something_has_changed(monkeypatch):
    ever = set()
    for change in range(80):
        monkeypatch.setattr(rotation, "_digest", lambda change=change: str(change))
        ever |= selection(NAMES, 20)
    assert len(ever) > 290


@pytest.mark.parametrize("stated", ["0", "-1", "a third", ""])
def test_what_is_no_number_of_shares_is_reported(monkeypatch, stated):
    monkeypatch.setenv(VARIABLE, stated)
    with pytest.raises(UsageError, match="give a whole number from 1 on"):
        is_due("core/plain")
