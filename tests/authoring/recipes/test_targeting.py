"""The tables of targets: what stands in one twice, or names nothing, is told before anything runs."""

import re
from dataclasses import replace

import pytest

from attnspec.base.errors import RecipeError
from attnspec_authoring.recipes import authored_cases
from attnspec_authoring.recipes.targeting import with_targets


@pytest.fixture
def case():
    found = next(case for case in authored_cases() if case.operation == "softmax")
    return replace(found, targets=())


def table(folder, *lines):
    """A file of a table, and the table that Python makes of it."""
    folder.mkdir()
    file = folder / "targets.py"
    text = "\n".join(["TARGETS: dict = {", *lines, "}", ""])
    file.write_text(text, encoding="utf-8")
    read = {}
    exec(text, read)
    return read["TARGETS"], str(file)


def test_a_case_is_given_the_mistakes_of_its_line(case, tmp_path):
    targets, file = table(tmp_path / "family", f'    "{case.id}": ("softmax.no_maximum",),')
    (given,) = with_targets([case], targets, file)
    assert given.targets == ("softmax.no_maximum",)


def test_a_case_that_stands_there_twice_is_told_with_both_lines(case, tmp_path):
    first, last = (f'    "{case.id}": ("softmax.{name}",),' for name in ("no_maximum", "not_normalised"))
    targets, file = table(tmp_path / "family", first, "    # another", last)
    words = f"family/targets.py: {case.id!r} stands in TARGETS more than once, in line 2 and line 4."
    with pytest.raises(RecipeError, match=re.escape(words)):
        with_targets([case], targets, file)


@pytest.mark.parametrize(
    ("mistakes", "words"),
    [
        (("softmax.no_maximum", "softmax.no_maximum"), "is there to catch softmax.no_maximum twice"),
        (("softmax.unheard_of",), "softmax.unheard_of, but there is no such mistake"),
        (("causal_mask.inverted",), "causal_mask.inverted, but that is one of causal_mask"),
    ],
)
def test_a_mistake_that_is_named_twice_or_is_none_is_told(case, tmp_path, mistakes, words):
    targets, file = table(tmp_path / "family", f'    "{case.id}": {mistakes!r},')
    with pytest.raises(RecipeError, match=re.escape(words)):
        with_targets([case], targets, file)


def test_what_a_recipe_says_itself_counts_too(case, tmp_path):
    targets, file = table(tmp_path / "family", f'    "{case.id}": ("softmax.no_maximum",),')
    with pytest.raises(RecipeError, match="twice"):
        with_targets([replace(case, targets=("softmax.no_maximum",))], targets, file)


def test_a_case_of_another_family_is_told(case, tmp_path):
    targets, file = table(tmp_path / "family", '    "rotary/unheard_of": ("softmax.no_maximum",),')
    with pytest.raises(RecipeError, match="no recipe makes it"):
        with_targets([case], targets, file)
