"""Rich forms in a notebook: the verdict first, the cause, pictures of the first failing case, then the table."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import attnspec
from attnspec.reports.account import account_of

SDPA = "scaled_dot_product_attention"
SOFTMAX_CASES = "documents/001/softmax_*"


def over_rows(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


def attended(query, key, value, mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


class Hostile:
    name = "<script>alert(1)</script>"
    version = "<b>2</b>"

    def softmax(self, x, axis=-1):
        raise ValueError("<script>alert('message')</script> & more")


def text_of(fragment):
    """The words of a fragment, in the order in which they are read; titles of cells are none."""
    assert fragment.startswith("<div>")
    assert fragment.endswith("</div>")
    without_titles = re.sub(r"<title>.*?</title>", "", fragment)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without_titles)).split())


class Balance(HTMLParser):
    """Tags that are still open."""

    def __init__(self, fragment):
        super().__init__()
        self.open = []
        self.feed(fragment)

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def positions(text, *wanted):
    found = [text.index(each) for each in wanted]
    assert found == sorted(found), dict(zip(wanted, found, strict=True))


@pytest.fixture(scope="module")
def wrong():
    return attnspec.validate(over_rows, operation="softmax")


def test_verdict_cause_pictures_and_table_come_in_this_order(wrong):
    account, shown = account_of(wrong), wrong._repr_html_()
    assert Balance(shown).open == []
    first = account.problems[0]
    text = text_of(shown)
    assert text.startswith(f"✗ {account.verdict} {account.heading} {len(first.failures)} {first.lines[0]}")
    positions(text, first.lines[0], "expected output", "got", "difference", "are wrong", "profile")
    assert f'attnspec.case("{first.clearest[0]}", "{first.clearest[1]}")' in text
    assert shown.count("<svg") == 3


def test_a_profile_without_anything_graded_says_so_and_comes_last(wrong):
    rows = [text_of(f"<div>{row}</div>") for row in re.findall(r"<tr>(.*?)</tr>", wrong._repr_html_())[1:]]
    assert len(rows) == len(wrong.by_profile)
    verdicts = ["not graded" if row.endswith(" not graded") else "graded" for row in rows]
    assert verdicts == sorted(verdicts)
    for row in rows:
        profile = wrong.by_profile[row.split()[0]]
        assert row.endswith("not graded" if profile.conformance == "nothing graded" else profile.conformance)
    assert "not graded" in verdicts


def test_what_could_be_declared_is_said_in_keywords():
    report = attnspec.validate(attended, operation=SDPA, select=["core/*", "masking/*", "grouped_query/*"])
    text = text_of(report._repr_html_())
    assert report.could_be_declared is not None
    assert 'attnspec.validate(…, without=("float_mask", "grouped_query"), conventions={"' in text
    assert not re.search(r"--\w", text)


def test_what_is_right_has_no_pictures_and_says_what_was_compared():
    report = attnspec.validate("reference", select=SOFTMAX_CASES)
    shown = report._repr_html_()
    assert text_of(shown).startswith(f"✓ {account_of(report).verdict}")
    assert "numbers compared" in shown
    assert "<svg" not in shown


def test_elements_that_are_wrong_are_marked_and_those_that_are_no_numbers_have_a_word():
    def first_is_wrong(x, axis=-1):
        right = np.exp(x - x.max(axis=axis, keepdims=True))
        right /= right.sum(axis=axis, keepdims=True)
        right[(0,) * right.ndim] = np.nan
        return right

    report = attnspec.validate(first_is_wrong, operation="softmax", select="documents/001/softmax_of_rows")
    shown = report._repr_html_()
    expected = report.wrong[0].got["output"]
    assert shown.count("<rect") == 3 * expected.size
    assert shown.count(">n</text>") == 2, "what came, and the difference"
    assert f"1 of {expected.size} elements of output are wrong" in text_of(shown)
    scaled = attnspec.validate(
        lambda x, axis=-1: attnspec_softmax(x, axis) * 1.5, operation="softmax", select="documents/001/softmax_of_rows"
    )
    assert scaled._repr_html_().count("<circle") == expected.size


def attnspec_softmax(x, axis):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def test_of_a_large_tensor_the_part_round_the_worst_element_is_drawn():
    def off_at_the_end(query, key, value):
        output = attended(query, key, value)
        output[-1, -1, -1, -1] += 1
        return output

    report = attnspec.validate(off_at_the_end, operation=SDPA, probes=False)
    whole = [
        result for result in report.wrong if result.got is not None and not getattr(result.run.expected, "sample", True)
    ]
    sizes = {result.case.id: result.got["output"].shape for result in whole}
    case_id = next(case_id for case_id, shape in sizes.items() if max(shape[-2:]) > 16 and shape[0] * shape[1] > 1)
    alone = attnspec.validate(off_at_the_end, operation=SDPA, select=case_id, probes=False)
    shape = sizes[case_id]
    shown = alone._repr_html_()
    assert shown.count("<rect") == 3 * min(shape[-2], 16) * min(shape[-1], 16)
    assert f"output[{shape[0] - 1}, {shape[1] - 1}" in text_of(shown)
    assert shown.count("<circle") == 1


def test_an_output_of_another_shape_stands_beside_the_expected_one():
    report = attnspec.validate(
        lambda query, key, value: attended(query, key, value)[..., :1], operation=SDPA, select="core/plain"
    )
    assert report._repr_html_().count("<svg") == 2


def test_whatever_an_implementation_says_is_escaped():
    shown = attnspec.validate(Hostile, select=SOFTMAX_CASES)._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "&lt;script&gt;alert(&#x27;message&#x27;)&lt;/script&gt; &amp; more" in shown
    assert "<script" not in shown
    assert "<b>" not in shown
    assert Balance(shown).open == []


@pytest.mark.parametrize(
    ("case_id", "wanted"),
    [
        ("core/plain", ["core/plain of", "Called with query", "key[", "value[", "Expected output[", "case.check("]),
        ("causal/square", ["is_causal=True", "Expected"]),
        ("documents/002/refuses_query_of_rank_2", ["Called with", "It must be refused, by any exception: "]),
    ],
)
def test_a_case_shows_what_it_is_called_with_and_what_is_expected(case_id, wanted):
    shown = attnspec.case(case_id)._repr_html_()
    assert Balance(shown).open == []
    positions(text_of(shown), *wanted)
    assert shown.count("<svg") == len(attnspec.case(case_id).inputs) + len(attnspec.case(case_id).expected)
