"""`attnspec show CASE`: what a case asks, for a reader."""

import pytest

from attnspec.command_line import main


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("core/plain", "called once more with query alone changed, to its own reverse along every axis"),
        ("memory/repeated_the_window", "called once more with window alone changed, to [2, 0]"),
    ],
)
def test_a_changed_argument_is_shown(case, line, capsys) -> None:
    assert main(["show", case]) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_a_case_without_one_is_shown_without_it(capsys) -> None:
    assert main(["show", "core/plain_weights"]) == 0
    assert "called once more" not in capsys.readouterr().out
