"""What earlier matrices found: read as long as nothing has changed on which it depends, and never after."""

import json
import shutil
from pathlib import Path

import pytest

from attnspec_authoring.proof import Cache, run_matrix, running
from attnspec_authoring.proof import cache as caching
from attnspec_controls import CONTROLS
from attnspec_mistakes import CATALOGUE

MISTAKE, CONTROL = "softmax.no_maximum", "softmax.online"
GOLDEN = Path(__file__).parents[4] / "golden"


@pytest.fixture
def requested(monkeypatch):
    """The ids of the cases that are requested, mistake by mistake."""
    found = []
    ask = running.run_once

    def listening(runs, *arguments):
        found.extend(run.case.id for run in runs)
        return ask(runs, *arguments)

    monkeypatch.setattr(running, "run_once", listening)
    return found


def run(folder, folder_of_cache, **options):
    # A process reads a suite once, and the folder changes between these runs.
    for cached in (running._suite, running._runs, running._verdicts):
        cached.cache_clear()
    options.setdefault("only", [MISTAKE, CONTROL])
    return run_matrix(folder, cache=Cache(folder_of_cache), processes=1, **options)


def add(case_id, folder):
    (folder / case_id).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(GOLDEN / f"{case_id}.json", folder / f"{case_id}.json")


def test_what_is_known_is_not_requested_again(few, tmp_path, requested):
    first = run(few, tmp_path / "cache")
    assert requested
    assert any(trial.wrong for trial in first.trials)
    requested.clear()
    assert run(few, tmp_path / "cache").trials == first.trials
    assert requested == []


def test_a_new_case_and_a_changed_one_alone_are_requested(few, tmp_path, requested):
    run(few, tmp_path / "cache")
    requested.clear()
    add("layout/softmax_rank_3", few)
    whole = run_matrix(few, only=[MISTAKE, CONTROL], processes=1)
    requested.clear()
    assert run(few, tmp_path / "cache").trials == whole.trials
    assert set(requested) == {"layout/softmax_rank_3"}
    requested.clear()
    path = few / "layout" / "softmax_large.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "title": "Another title"}))
    run(few, tmp_path / "cache")
    assert set(requested) == {"layout/softmax_large"}


def test_changed_code_makes_everything_anew(few, tmp_path, requested, monkeypatch):
    run(few, tmp_path / "cache")
    requested.clear()
    monkeypatch.setattr(caching, "_harness_digest", lambda: "another harness")
    run(few, tmp_path / "cache")
    assert {"layout/softmax_columns", "layout/softmax_large"} <= set(requested)


def test_a_damaged_or_deleted_cache_is_made_anew(few, tmp_path, requested):
    folder_of_cache = tmp_path / "cache"
    first = run(few, folder_of_cache)
    cut = (folder_of_cache / f"{MISTAKE}.json").read_text()[:-9]
    of_another_form = cut.replace('{"layout', '[{"layout') + "]"
    for text in ("", "[]", '{"code": 1}', cut, of_another_form):
        for path in folder_of_cache.iterdir():
            path.write_text(text)
        requested.clear()
        assert run(few, folder_of_cache).trials == first.trials
        assert requested
    shutil.rmtree(folder_of_cache)
    assert run(few, folder_of_cache).trials == first.trials
    assert sorted(path.stem for path in folder_of_cache.iterdir()) == sorted([MISTAKE, CONTROL])


def test_code_that_is_edited_meanwhile_is_not_blamed_for_what_ran(few, tmp_path, monkeypatch):
    states = iter([((1, 1),), ((1, 1),), ((2, 1),)])
    monkeypatch.setattr(caching, "_state_of_code", lambda: next(states))
    run(few, tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1, "the second one was done when the file had changed"


def test_what_depends_on_earlier_calls_is_kept_for_all_its_cases_together(few, tmp_path, monkeypatch):
    requested = []
    ask = running.run_suite

    def listening(suite, *arguments, **options):
        requested.append(set(suite.cases))
        return ask(suite, *arguments, **options)

    monkeypatch.setattr(running, "run_suite", listening)
    remembering = ["softmax.axis_remembered"]
    first = run(few, tmp_path / "cache", only=remembering)
    assert run(few, tmp_path / "cache", only=remembering).trials == first.trials
    assert requested == [{"layout/softmax_columns", "layout/softmax_large"}]
    add("layout/softmax_rank_3", few)
    run(few, tmp_path / "cache", only=remembering)
    assert requested[1:] == [{"layout/softmax_columns", "layout/softmax_large", "layout/softmax_rank_3"}]
    part = Cache(tmp_path / "cache", of_part=True)
    run_matrix(few, only=remembering, cache=part, select=("layout/softmax_large",), processes=1)
    run(few, tmp_path / "cache", only=remembering)
    assert len(requested) == 3, "a part is requested itself, and takes nothing away from the whole"


def test_each_digest_is_of_the_file_that_makes_the_mistake():
    makers = caching._makers()
    assert all(makers.get(subject.id) for subject in (*CATALOGUE, *CONTROLS))
    files = {path.name for path in min(map(caching._closure, makers["sdpa.causal_strict"]), key=len)}
    assert "forward_scores.py" in files
    assert "patches.py" in files
    assert "mistake.py" in files
    assert not {"forward_softmax.py", "paged_positions.py", "attention_layers.py", "rotary_scalings.py"} & files
