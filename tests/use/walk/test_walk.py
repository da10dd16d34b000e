"""A newcomer's walk through README.md: a fresh clone, a fresh environment, every command as it stands.

What takes minutes is left out here, because CI runs it anyway; ``make walk`` does all of it.
"""

import shutil

import pytest

from .walk import PAGES, ROOT, Command, File, Walk, steps

SLOW = ("make test", "make check-goldens", "make lint")


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")
def test_every_command_of_the_readme_works_for_a_newcomer(tmp_path):
    skip = SLOW if shutil.which("node") else (*SLOW, ".mjs")
    assert Walk(tmp_path).go(PAGES[0], skip=skip) > 15


def test_a_page_is_read_in_its_order():
    page = (
        "```python\n# a.py\nx = 1\n```\ntext\n```console\n$ one --two\n$ three  # ends with 1\n```\n```python\ny\n```\n"
    )
    assert list(steps(page)) == [File("a.py", "# a.py\nx = 1\n"), Command("one --two"), Command("three", 1)]


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_have_commands(page):
    found = list(steps((ROOT / page).read_text("utf-8")))
    assert sum(isinstance(step, Command) for step in found) > 2
    assert any(isinstance(step, File) for step in found)
