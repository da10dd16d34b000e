"""Names and messages that try to leave their line: on the console, in the summary, in the baseline."""

import json
import re

HOSTILE = "<script>alert(1)</script>\x1b[31m\x00\u202e[link](x)`code`\r\n# heading | cell ![i](u)"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MARKUP = re.compile(r"<[a-z]|(?<!\\)[`\[|]|^# ", re.MULTILINE)


def test_a_hostile_message_stays_in_its_line(checkout, capsys):
    checkout.adapter(name=HOSTILE, rows="raises", message=HOSTILE + "x" * 10_000)
    assert checkout.gate("--summary", "summary.md", baseline=False)[0] == 1
    checkout.gate("--quiet", baseline=False)
    summary = (checkout.folder / "summary.md").read_text("utf-8")
    assert "alert" in summary
    assert not CONTROL.search(summary)
    assert not MARKUP.search(summary.replace("### attnspec gate", ""))
    assert len(summary) < 5_000


def test_a_hostile_message_cannot_drive_the_terminal(checkout):
    checkout.adapter(name=HOSTILE, rows="raises", message=HOSTILE + "x" * 10_000)
    _, out, _ = checkout.gate(baseline=False)
    assert "[link](x)`code`" in out
    assert not CONTROL.search(out)
    assert len(out) < 5_000


def test_a_hostile_name_is_found_again_in_its_baseline(checkout):
    checkout.adapter(name=HOSTILE + "\ud800")
    document = checkout.update()
    assert not CONTROL.search(document["implementation"]["name"])
    assert checkout.gate()[0] == 0


def test_a_sentence_about_bad_input_is_clean_too(checkout):
    checkout.update()
    checkout.adapter(name=HOSTILE)
    _, _, err = checkout.gate()
    assert "[link](x)" in err
    assert not CONTROL.search(err)
    document = json.loads(checkout.baseline.read_text("utf-8"))
    checkout.edit_baseline(implementation=document["implementation"] | {HOSTILE: 1})
    status, _, err = checkout.gate()
    assert status == 2
    assert not CONTROL.search(err)


def test_a_summary_is_appended_to(checkout):
    (checkout.folder / "summary.md").write_text("# What was there\n\n", "utf-8")
    assert checkout.gate("--summary", "summary.md", baseline=False)[0] == 0
    summary = (checkout.folder / "summary.md").read_text("utf-8")
    assert summary.startswith("# What was there\n\n### attnspec gate: open\n\nmine passes the gate: 6 of 6 passed.\n")
    assert checkout.gate("--summary", "nowhere/summary.md", baseline=False)[0] == 2


def test_what_an_adapter_raises_at_its_import_is_clean_too(checkout):
    (checkout.folder / "mine.py").write_text(f"raise RuntimeError({HOSTILE!r})", "utf-8")
    status, _, err = checkout.gate(baseline=False)
    assert status == 2
    assert "could not be imported: RuntimeError: <script>" in err
    assert not CONTROL.search(err)


def test_a_hostile_reason_is_found_again_in_its_group(checkout):
    checkout.adapter(columns="declines", declined=HOSTILE + "\ud800" + "x" * 10_000)
    document = checkout.update()
    (group,) = document["groups"]
    assert not CONTROL.search(group["said"])
    assert checkout.gate("--summary", "summary.md")[0] == 0
    summary = (checkout.folder / "summary.md").read_text("utf-8")
    assert "Unsupported, as the baseline says: 1 group" in summary
    assert not CONTROL.search(summary)
    assert not MARKUP.search(re.sub("### attnspec gate|</?(details|summary)>", "", summary))
    assert len(summary) < 5_000
    checkout.adapter()
    _, out, _ = checkout.gate()
    assert "covers 0 results, not 2" in out
    assert not CONTROL.search(out)
