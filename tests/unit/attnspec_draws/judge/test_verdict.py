"""The verdict in words: the same sentences on a terminal and in a notebook, where these speak Python."""

import html
import re
from dataclasses import replace

import pytest

from attnspec_draws.judge import Conditions, JudgeReport, Tally

DRAW = "draw:scaled_dot_product_attention/1/5:float32:keys=9"
WRONG = JudgeReport(
    "./kernel.py:<f>",
    "wrong",
    "3 of 4 draws failed. It raised ValueError: <b>no</b>.",
    seed="abc",
    is_replay=False,
    conditions=Conditions(),
    diagnosis=("If they are meant, judge it with --convention no_keys=nan,input_checks=lenient.",),
    at=Tally(4, 1, 3, 0, 0, 0, 7.5, DRAW),
    beside=Tally(0, 0, 0, 0, 0, 0, 0.0, None),
    conventions={"no_keys": "nan"},
)


def words(report):
    shown = report._repr_html_()
    assert "<script" not in shown
    assert "<b>" not in shown
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", shown)).split())


def test_verdict_and_reason_come_first_and_the_table_last():
    text = words(WRONG)
    assert text.startswith(f"✗ ./kernel.py:<f>: wrong {WRONG.reason} ")
    assert text.endswith("draws passed wrong declined ungraded at your shapes 4 1 3 0 0")
    assert f'To see it: attnspec.case("{DRAW}")' in text
    assert 'judge it with conventions={"no_keys": "nan", "input_checks": "lenient"}.' in text
    for sentence in WRONG.sentences()[2:]:
        assert sentence in text
    assert "Worst error / tolerance at the shapes: 7.5." in text
    assert "Seed abc." in text


@pytest.mark.parametrize(("verdict", "sign"), [("right", "✓"), ("not judged", "○"), ("wrong", "✗")])
def test_the_sign_is_that_of_the_verdict(verdict, sign):
    assert words(replace(WRONG, verdict=verdict)).startswith(f"{sign} ./kernel.py:<f>: {verdict} ")


def test_what_was_known_before_judges_nothing():
    assert "Seed abc. It was known before: a replay, which judges nothing." in words(replace(WRONG, is_replay=True))
