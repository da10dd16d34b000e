"""The tables of targets: what stands in one twice, or names nothing, is reported before anything runs."""

import re
from dataclasses import replace

import pytest

from attnspec.base.errors import RecipeError
from attnspec_authoring.recipes import authored_cases
from attnspec_authoring.recipes.completing import with_targets


@pytest.fixture
def case():
    found = next(case for case in authored_cases() if case.operation == "softmax")
    return replace(found, targets=())


def table(folder, *lines):
    """A table, and the file that it stands in."""
    folder.mkdir()
    file = folder / "targets.py"
    text = "\n".join(["", *lines, ""])
    file.write_text(f'TARGETS = """{text}"""', encoding="utf-8")
    return text, str(file)


def test_a_case_is_given_the_mistakes_of_its_line(case, tmp_path):
    targets, file = table(tmp_path / "family", f"{case.id}: no_maximum", "    not_normalised")
    (given,) = with_targets([case], targets, file)
    assert given.targets == ("softmax.no_maximum", "softmax.not_normalised")


def test_a_case_that_stands_there_twice_is_reported_with_both_lines(case, tmp_path):
    first, last = (f"{case.id}: {name}" for name in ("no_maximum", "global_maximum"))
    targets, file = table(tmp_path / "family", first, "    not_normalised", last)
    words = f"family/targets.py: {case.id!r} stands there more than once, in line 2 and line 4."
    with pytest.raises(RecipeError, match=re.escape(words)):
        with_targets([case], targets, file)


@pytest.mark.parametrize(
    ("mistakes", "words"),
    [
        ("no_maximum no_maximum", "is there to catch softmax.no_maximum twice"),
        ("unheard_of", "softmax.unheard_of, but there is no such mistake"),
        ("offset_ignored", "softmax.offset_ignored, but there is no such mistake"),
    ],
)
def test_a_mistake_that_is_named_twice_or_is_none_of_its_operation_is_reported(case, tmp_path, mistakes, words):
    targets, file = table(tmp_path / "family", f"{case.id}: {mistakes}")
    with pytest.raises(RecipeError, match=re.escape(words)):
        with_targets([case], targets, file)


def test_what_a_recipe_says_itself_counts_too(case, tmp_path):
    targets, file = table(tmp_path / "family", f"{case.id}: no_maximum")
    with pytest.raises(RecipeError, match="twice"):
        with_targets([replace(case, targets=("softmax.no_maximum",))], targets, file)


def test_a_case_of_another_family_is_reported(case, tmp_path):
    targets, file = table(tmp_path / "family", "rotary/unheard_of: no_maximum")
    with pytest.raises(RecipeError, match="no recipe makes it"):
        with_targets([case], targets, file)
