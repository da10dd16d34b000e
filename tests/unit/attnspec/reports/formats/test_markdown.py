"""Markdown: what a pull request shows, how long it is, and that strangers' texts stay in their line."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from attnspec.base.plain_text import plain_text
from attnspec.reports.formats.markdown import code, markdown, prose

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OWN_TAGS = re.compile(r"</?details>\n?|<summary>(Failing cases|Not graded): \d+</summary>\n?")


def tokens(text):
    for token in GITHUB.parse(text):
        yield token
        yield from token.children or ()


def shown_outside_code(text):
    """What a reader sees that is not code, where GitHub looks for mentions, references and links."""
    return "\n".join(token.content for token in tokens(text) if token.type == "text")


def test_what_a_pull_request_shows(student, snapshot: SnapshotAssertion):
    text = re.sub(r"(?<=validate )\S+/(?=student)|\d+\.\d+\.\d+|platform \S+|(?<=suite )\w+", "…", markdown(student))
    # Ratios below 1 depend on the BLAS of the machine.
    assert re.sub(r"\b0\.\d+\b", "0.…", text) == snapshot


def test_what_conforms_is_short(reference):
    text = markdown(reference)
    assert text.startswith("### ✅ `attnspec reference ")
    assert "<details>" not in text
    assert len(text) < 1_500


def test_where_no_mistake_is_named_the_clauses_of_wrong_answers_alone_are(reference):
    """Refusals that are not made break the clauses that only they exercise, whatever else is right."""
    clause = "sdpa.rejects.rank"
    results = [
        {**result, "status": "error", "message": "gave up"} if clause in result["clauses"] else result
        for result in reference["results"]
    ]
    wrong = sum(result["status"] == "error" for result in results)
    assert wrong > 1
    statuses = {"pass": len(results) - wrong, "error": wrong}
    summary = {**reference["summary"], "conformance": "does not conform", "statuses": statuses}
    text = markdown({**reference, "summary": summary, "results": results})
    assert f"- All {wrong} answers that exercise {clause} went wrong: Query, key and value of any rank but 4" in text
    assert text.count("answers that exercise") == 1


def test_the_table_is_a_table(student):
    rows = [token.type for token in tokens(markdown(student))].count("tr_open")
    assert rows == 1 + len(student["summary"]["profiles"])


def test_nine_hundred_failures_fit_into_a_comment(very_broken):
    text = markdown(very_broken)
    assert 50_000 < len(text) < 60_000
    assert len(text.encode()) < 65_536
    shown = len(re.findall(r"^- `core/broken_", text, re.MULTILINE))
    assert shown > 100
    assert "<summary>Failing cases: 900</summary>" in text
    assert f"… and {900 - shown} more cases; report.json has them all." in text
    # What follows the list is not cropped with it.
    assert "attnspec validate" in text.partition("</details>")[2]
    assert "numbers compared" in text.splitlines()[-1]


def test_many_reasons_and_operations_are_cropped_too(very_broken):
    results = [
        {**result, "status": "unsupported", "check": None, "message": f"{position} {'reason ' * 100}"}
        for position, result in enumerate(very_broken["results"])
    ]
    text = markdown({**very_broken, "results": [*very_broken["results"], *results]})
    assert len(text) < 60_000
    assert "more reasons; report.json has them all." in text


def test_hostile_texts_stay_in_their_line(hostile):
    text = markdown(hostile)
    found = list(tokens(text))
    html = "".join(token.content for token in found if token.type.startswith("html"))
    assert OWN_TAGS.sub("", html) == ""
    assert not {token.type for token in found} & {"link_open", "image", "strong_open", "code_block", "hr"} - {
        "strong_open"
    }
    assert [token.tag for token in found if token.type == "heading_open"] == ["h3"]
    outside = shown_outside_code(text)
    assert not re.search(r"@\w|#\d|://|www\.|script", outside)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    assert any("<script>" in token.content for token in found if token.type == "code_inline")
    (fence,) = [token for token in found if token.type == "fence"]
    assert fence.content.count("\n") == 1
    assert text.count("<details>") - text.count("`<details>") == 2


HOSTILE_CHARACTERS = st.text(st.characters() | st.sampled_from("`|<>@#*_[]()!\\&~$:/.- \n1w"), max_size=40)


@given(HOSTILE_CHARACTERS)
@example("`opens")
@example("closes`")
@example("`` ` ```")
def test_code_shows_any_text_as_it_is(text):
    shown = code(text)
    if not shown:
        return
    inline = [token for token in tokens(f"before {shown} after") if token.type != "inline"]
    (compared,) = [token for token in inline if token.type == "code_inline"]
    assert "".join(token.content for token in inline if token.type == "text") == "before  after"
    assert not any(token.type.startswith("html") for token in inline)
    assert compared.content == plain_text(text)


@given(HOSTILE_CHARACTERS)
def test_prose_shows_any_text_as_it_is(text):
    for before in ("- ", "**a**: "):
        found = list(tokens(before + prose(text)))
        kinds = {token.type for token in found}
        assert not kinds & {"html_inline", "html_block", "link_open", "image", "em_open", "s_open", "code_inline"}
        assert not kinds & {"heading_open", "hr", "blockquote_open", "fence", "code_block", "table_open"}
        assert [token.type for token in found].count("list_item_open") == (before == "- ")
        shown = "".join(token.content for token in found if token.type in ("text", "text_special"))
        assert not re.search(r"@\w|#\d|://|www\.", shown, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("plain words, 8.6e+14 times", "plain words, 8.6e+14 times"),
        ("weights @ encoder_states", r"weights @ encoder\_states"),
        ("1. not a list", r"1\. not a list"),
        ("# not a heading", r"\# not a heading"),
        ("a | b", r"a \| b"),
        ("<b>", "&lt;b&gt;"),
        ("@octocat", "@\u200boctocat"),
    ],
)
def test_prose_is_escaped_no_more_than_needed(text, markup):
    assert prose(text) == markup
