"""Published bugs: each is caught by the case that is kept with it, and its mended function passes there."""

import json

import pytest

from attnspec_authoring.published_bugs import PUBLISHED_BUGS, main, read_published_bugs, report_on, tried

BUGS = {bug.id: bug for bug in read_published_bugs()}
FEWEST_CAUGHT = 57
"""Of sixty, as many as were promised when they were recreated."""


def test_there_are_sixty_from_many_projects():
    assert len(BUGS) == 60
    assert len({bug.link.split("/")[4] for bug in BUGS.values()}) >= 20
    assert all(2024 <= bug.year <= 2026 for bug in BUGS.values())
    assert sum(bug.caught_by is not None for bug in BUGS.values()) >= FEWEST_CAUGHT


@pytest.mark.parametrize("bug", [bug for bug in BUGS.values() if bug.caught_by], ids=lambda bug: bug.id)
def test_a_bug_is_caught_by_its_case(bug):
    # What depends on earlier calls shows beside other cases alone.
    alone = report_on(bug.wrong, case=bug.caught_by).wrong
    assert any(
        (result.case.id, result.dtype) == (bug.caught_by, bug.dtype) for result in alone or report_on(bug.wrong).wrong
    )
    if bug.right_passes:
        assert not report_on(bug.right, case=bug.caught_by).wrong


@pytest.mark.proof
@pytest.mark.parametrize("name", [*BUGS][::20])
def test_all_cases_say_of_a_bug_what_is_kept(name):
    assert tried(BUGS[name]) == BUGS[name]


@pytest.mark.proof
def test_a_bug_that_is_gone_is_said(tmp_path, monkeypatch, capsys):
    (name,) = [*BUGS][:1]
    entries = [entry for entry in json.loads(PUBLISHED_BUGS.read_text(encoding="utf-8")) if entry["id"] == name]
    entries[0]["wrong"] = entries[0]["right"]
    path = tmp_path / "bugs.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    monkeypatch.setattr("attnspec_authoring.published_bugs.PUBLISHED_BUGS", path)
    monkeypatch.setattr(read_published_bugs, "__defaults__", (path,))
    assert main([]) == 1
    assert f"{name}: missed" in capsys.readouterr().out
