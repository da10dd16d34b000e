"""What a campaign says while it is under way."""

import time

import pytest

from attnspec_draws.commands.campaign_progress import Drawing, doing


def waited(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_where_no_terminal_is_lines_come_now_and_then(capsys):
    reported = []

    def has_reported():
        reported.append(capsys.readouterr().err)
        return "".join(reported).count("attnspec: finding out\n") >= 3

    with doing("finding out", seconds=0.01):
        assert waited(has_reported)


def test_what_is_short_says_nothing_where_no_terminal_is(capsys):
    with doing("finding out"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_on_a_terminal_it_shows_from_the_first_moment(capsys, monkeypatch, stream):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    with doing("finding out"):
        pass
    read = capsys.readouterr()
    assert "finding out" in (read.out if stream == "stdout" else read.err)


def test_draws_are_counted_of_all_and_no_speed_is_reported_of_the_first(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("attnspec_draws.commands.campaign_progress.monotonic", lambda: now[0])
    drawing = Drawing(20, 60, None)
    drawing.add(5)
    now[0] += 0.02
    assert drawing.text() == "25 of 60 draws"
    drawing.add(15)
    now[0] += 9.98
    assert drawing.text() == "40 of 60 draws, 2.0/s, 10 s left"
    drawing.end()
    now[0] += 50
    assert drawing.seconds == pytest.approx(10)


def test_time_that_is_left_is_reported_from_the_first(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("attnspec_draws.commands.campaign_progress.monotonic", lambda: now[0])
    drawing = Drawing(0, None, 60.0)
    assert (drawing.text(), drawing.is_over) == ("0 draws, 60 s left", False)
    now[0] += 61
    assert drawing.is_over
