"""``python -m attnspec_authoring.strangers``: counts, surprises, and how it ends."""

from dataclasses import replace

import pytest

from attnspec.cases import load_suite
from attnspec_authoring.strangers import __main__ as command
from attnspec_authoring.strangers import index_text, read_index, strangers_page

SMALL = ("softmax", "causal_mask", "split_heads")


@pytest.fixture
def few(monkeypatch, tmp_path):
    """An index of three wrong implementations of one batch, and one of another, tried on the suite as it is."""
    index = read_index()
    wrong = [each for each in index.of("batch_7") if each.must_fail and each.operation in SMALL][:3]
    other = next(each for each in index.of("batch_8") if each.must_fail and each.operation in SMALL)
    suite = load_suite()
    index = replace(index, strangers=(*wrong, other), cases=len(suite.cases), suite=suite.digest)
    monkeypatch.setattr(command, "read_index", lambda: index)
    for name in ("INDEX", "PAGE"):
        monkeypatch.setattr(command, name, tmp_path / name)
    return index


def test_all_is_as_the_index_has_it(few, capsys):
    assert command.main(["--processes", "1"]) == 0
    assert capsys.readouterr().out == (
        "4 of 4 wrong implementations are killed, 0 of 0 right ones fail; 0 not as INDEX has it.\n"
    )
    assert not command.INDEX.exists()


def test_a_surprise_is_reported_and_ends_with_1_and_a_new_kill_is_written(few, capsys, monkeypatch):
    killed, survivor, left_open, _ = few.strangers
    strange = (killed, replace(survivor, noticed_by=None), replace(left_open, left_open=True, noticed_by=None))
    monkeypatch.setattr(command, "read_index", lambda: replace(few, strangers=strange))
    assert command.main(["batch_7", "--processes", "1", "--write"]) == 1
    reported = capsys.readouterr().out.splitlines()
    assert reported[0].startswith(f"{left_open.name} is right, and ")
    assert reported[1:] == ["3 of 3 wrong implementations are killed, 0 of 0 right ones fail; 1 not as INDEX has it."]
    written = read_index(command.INDEX).strangers
    assert [each.noticed_by is None for each in written] == [False, False, True]
    assert written[::2] == strange[::2]
    assert command.PAGE.read_text().startswith("# Strangers' implementations\n")


def test_an_unknown_batch_is_reported(few, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["batch_1000"])
    assert ended.value.code == 2
    assert "there is no batch 'batch_1000' in" in capsys.readouterr().err


def test_writing_what_is_known_changes_nothing(few):
    assert command.main(["--processes", "1", "--write"]) == 0
    assert command.INDEX.read_text() == index_text(few)
    assert command.PAGE.read_text() == strangers_page(few)


def test_a_run_of_all_makes_the_index_refer_to_the_suite_as_it_is(few, monkeypatch):
    monkeypatch.setattr(command, "read_index", lambda: replace(few, cases=1, suite="0" * 64))
    assert command.main(["--processes", "1", "--write"]) == 0
    assert command.INDEX.read_text() == index_text(few)
