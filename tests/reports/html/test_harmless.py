"""Text of strangers stands on a page without doing anything there."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnspec.reports.html.page import as_island, harmless


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with ünïcode 你好 and a\nnew line\t", "plain, with ünïcode 你好 and a\nnew line\t"),
        ("\x1b[31mred", "⟨001B⟩[31mred"),
        ("null\x00", "null⟨0000⟩"),
        ("\u202eltr\u2066", "⟨202E⟩ltr⟨2066⟩"),
        ("half \ud800", "half ⟨D800⟩"),
        ("\u2028\ufeff\u200f", "⟨2028⟩⟨FEFF⟩⟨200F⟩"),
        ("\r\x7f\x85", "⟨000D⟩⟨007F⟩⟨0085⟩"),
    ],
)
def test_what_would_act_is_spelt_out(text, shown):
    assert harmless(text) == shown


def test_what_would_flood_is_cut_and_counted():
    assert harmless("x" * 10_000, 50) == "x" * 50 + " … (9,950 more characters)"
    assert harmless("x" * 50, 50) == "x" * 50


@settings(max_examples=40)
@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_an_island_never_ends_its_script_element(data):
    island = as_island(data)
    assert re.fullmatch(r"[ -;=?-~]*", island), "only ASCII, without < and >"
    assert "&" not in island
    island.encode("utf-8")
    json.loads(island)


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "<script", "&lt;"])
def test_an_island_gives_back_what_was_put_in(text):
    assert json.loads(as_island({"a": [text]})) == {"a": [text]}


def test_keys_are_made_harmless_too():
    assert json.loads(as_island({"\x1b<": 1})) == {"⟨001B⟩<": 1}
