"""The changelog's section on fixtures."""

import json

import pytest

from attnspec.base import __version__

from .conftest import CONTEXT, GOLDEN, REFUSAL, ROWS

COLUMNS = "documents/001/softmax_of_columns"
BEFORE = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A gate.\n"
AFTER = "\n## 0.1.0\n\n### Fixtures\n\n- What was then.\n"


def change_all(golden):
    golden.add(COLUMNS)
    golden.add("core/uniform")
    golden.edit(ROWS, lambda case: case.update(revision=2, dtypes=["float64"]))
    golden.remove(REFUSAL)
    golden.retire(REFUSAL, reason="Nobody could meet it.")


SECTION = """### Fixtures

- Added to `core`: the whole profile, 1 case.
- Added to `documents`: 1 case.
- Revised in `documents`: 1 case.
- Retired from `documents`: 1 case. Nobody could meet it.
"""


def test_added_revised_and_retired_are_counted_by_profile(golden):
    change_all(golden)
    assert golden.attnspec("release", "--changes") == (0, SECTION, "")


def test_nothing_changed_is_reported(golden):
    said = f"### Fixtures\n\nNo fixture has changed since {__version__}.\n"
    assert golden.attnspec("release", "--changes")[1] == said


def test_what_was_released_is_not_reported_again(golden):
    change_all(golden)
    golden.attnspec("release")
    assert "No fixture has changed" in golden.attnspec("release", "--changes")[1]


def test_cases_that_go_for_different_reasons_have_a_line_each(golden):
    golden.remove(REFUSAL)
    golden.remove(ROWS)
    golden.retire(REFUSAL, ROWS, reason="It was there twice.")
    tombstones = json.loads((golden.folder / "retired.json").read_text("utf-8"))
    tombstones["cases"][ROWS]["reason"] = "It was two."
    (golden.folder / "retired.json").write_text(json.dumps(tombstones), "utf-8")
    printed = golden.attnspec("release", "--changes")[1].splitlines()[2:]
    assert sorted(printed) == [
        "- Retired from `documents`: 1 case. It was there twice.",
        "- Retired from `documents`: 1 case. It was two.",
    ]


def test_before_the_first_release_profiles_are_reported(golden):
    (golden.folder / "released.json").unlink()
    assert golden.attnspec("release", "--changes")[1] == (
        "### Fixtures\n\n- Added to `documents`: the whole profile, 3 cases.\n"
    )


@pytest.mark.parametrize("after", ["", AFTER], ids=["last", "before a release"])
def test_the_section_is_written_where_it_belongs_and_replaced(after, golden, tmp_path):
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(BEFORE + after, "utf-8")
    change_all(golden)
    for _ in range(2):
        assert golden.attnspec("release", "--changelog", changelog) == (0, "", "")
        assert changelog.read_text("utf-8") == BEFORE + "\n" + SECTION + after
    golden.edit(CONTEXT, lambda case: case.update(revision=2))
    golden.attnspec("release", "--changelog", changelog)
    assert "- Revised in `documents`: 2 cases.\n" in changelog.read_text("utf-8")
    assert changelog.read_text("utf-8").count("### Fixtures") == 1 + bool(after)


def test_other_sections_stay(golden, tmp_path):
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("## Unreleased\n\n### Fixtures\n\n- Old.\n\n### Fixed\n\n- This.\n", "utf-8")
    change_all(golden)
    golden.attnspec("release", "--changelog", changelog)
    assert changelog.read_text("utf-8") == f"## Unreleased\n\n{SECTION}\n### Fixed\n\n- This.\n"


def test_a_changelog_that_cannot_take_it_is_said(golden, tmp_path):
    changelog = tmp_path / "CHANGELOG.md"
    status, _, err = golden.attnspec("release", "--changelog", changelog)
    assert status == 2
    assert "could not be brought up to date" in err
    changelog.write_text("# Changelog\n", "utf-8")
    status, _, err = golden.attnspec("release", "--changelog", changelog)
    assert status == 2
    assert "has no heading '## Unreleased'" in err


def test_a_release_in_one_command(golden, tmp_path):
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(BEFORE + AFTER, "utf-8")
    change_all(golden)
    final = ("release", "--changelog", changelog, "--final")
    said = f"{golden.folder / 'released.json'}: 4 cases, released as {__version__}.\n"
    assert golden.attnspec(*final) == (0, said, "")
    released = BEFORE.replace("## Unreleased", f"## Unreleased\n\n## {__version__}")
    assert changelog.read_text("utf-8") == released + "\n" + SECTION + AFTER
    assert "No fixture has changed" in golden.attnspec("release", "--changes")[1]
    # A version is released once.
    status, _, err = golden.attnspec(*final)
    assert (status, f"has a section of {__version__} already" in err) == (2, True)
    assert golden.attnspec("release", "--final")[0] == 2


def test_the_shipped_changelog_can_take_it(golden, tmp_path):
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text((GOLDEN.parent / "CHANGELOG.md").read_text("utf-8"), "utf-8")
    assert golden.attnspec("release", "--changelog", changelog)[0] == 0
