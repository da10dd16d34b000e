"""Text of strangers, made harmless for every report at once."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnspec.base.plain_text import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("as it is", "as it is"),
        ("two\nlines\r\n\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("null\x00byte", "null byte"),
        ("\u202etfel ot thgir\u202c", "tfel ot thgir"),
        ("half \ud800 of a pair", "half of a pair"),
        ("\ufeffmark \u200b unseen \U000e0041", "mark unseen"),
        ("no character \uffff", "no character"),
        ("Ελλάδα, 日本, 🙂, عربي, e\u0301", "Ελλάδα, 日本, 🙂, عربي, e\u0301"),
    ],
)
def test_what_steers_a_screen_is_taken_out(text, plain):
    assert plain_text(text) == plain


def test_long_texts_are_cropped():
    assert plain_text("x" * 10_000) == "x" * 600 + " …"
    assert plain_text("x" * 600) == "x" * 600
    assert plain_text("abcdef", longest=3) == "abc …"


@given(st.text(st.characters(), max_size=50))
def test_no_control_no_mark_of_direction_and_no_half_of_a_pair_is_left(text):
    shown = plain_text(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(character) for character in shown} & {
        *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
    }
    assert plain_text(shown) == shown
    assert shown.encode("utf-8").decode("utf-8") == shown
