"""A selection that rotates: as many as are wanted, and every name in one of a few digests."""

from attnspec_authoring import rotation
from attnspec_authoring.rotation import selection

NAMES = [f"core/case_{number}" for number in range(300)]


def test_as_many_are_selected_as_are_wanted():
    assert len(selection(NAMES, 20)) == 20
    assert selection(NAMES, 20) == selection(reversed(NAMES), 20) < selection(NAMES, 40)
    assert selection(NAMES, 1000) == set(NAMES)


def test_others_are_selected_when_something_has_changed(monkeypatch):
    ever = set()
    for change in range(80):
        monkeypatch.setattr(rotation, "_digest", lambda change=change: str(change))
        ever |= selection(NAMES, 20)
    assert len(ever) > 290
