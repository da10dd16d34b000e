"""Each list that lacks an entry is named by one sentence; tests/use/test_contributing.py forgets all of a family's."""

import attnspec_controls
import attnspec_reference
from attnspec_authoring import completeness
from attnspec_controls.attention import softmax


def without(names, *gone):
    return [name for name in names if name not in gone]


def test_what_the_reference_does_not_export_is_named_with_its_file(monkeypatch):
    monkeypatch.setattr(attnspec_reference, "__all__", without(attnspec_reference.__all__, "rotary_tables"))
    assert completeness.missing() == (
        "reference_impl/attnspec_reference/__init__.py (its import and __all__) lacks rotary_tables.",
    )


def test_a_module_of_controls_that_its_family_does_not_list_is_named(monkeypatch):
    others = tuple(control for control in attnspec_controls.CONTROLS if control not in softmax.CONTROLS)
    monkeypatch.setattr(attnspec_controls, "CONTROLS", others)
    monkeypatch.setattr(attnspec_controls.attention, "CONTROLS", others)
    assert completeness.missing() == (
        "reference_impl/attnspec_controls/attention/__init__.py (CONTROLS) lacks those of softmax.",
    )
