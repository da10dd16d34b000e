"""Every word that a report uses can be explained, and says what the spec says."""

import json
import re
from pathlib import Path

import pytest

from attnspec.command_line import main, vocabulary
from attnspec.contract import CAPABILITIES, CONVENTIONS, LAYOUTS, OPERATIONS, PROFILES
from attnspec.grading import STATUSES

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "spec" / "schemas" / "report.schema.json").read_text("utf-8"))
WORDS = vocabulary.vocabulary_words()


def enumerated(node):
    """Every string of an enum, wherever it stands in a schema."""
    if isinstance(node, dict):
        yield from (word for word in node.get("enum", ()) if isinstance(word, str))
        node = [*node.values()]
    if isinstance(node, list):
        for inner in node:
            yield from enumerated(inner)


def rows(page, section):
    """First cell to last cell of the rows of a table, without links and marks."""
    text = (ROOT / "spec" / page).read_text("utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| \[?`(\w+)`.*? \| (?:.* \| )?(.*?) \|$", text, re.MULTILINE)
    return {word: re.sub(r" \(\[.*?\]\(.*?\)\)", "", cell) for word, cell in found}


def test_every_word_of_an_enum_of_the_report_is_explained():
    words = set(enumerated(SCHEMA))
    assert {"fail", "repeatable", "most likely", "bfloat16", "conforms in part", "crashed"} <= words
    assert words <= set(WORDS)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("status", STATUSES),
        ("operation", OPERATIONS),
        ("convention", CONVENTIONS),
        ("profile", (*(path.name for path in (ROOT / "golden").iterdir() if any(path.rglob("*.json"))), "smoke")),
        ("layout", LAYOUTS),
        ("capability", CAPABILITIES),
    ],
)
def test_every_word_of_a_kind_is_explained_and_no_other(kind, words):
    assert {word for word, meanings in WORDS.items() if kind in {meaning.kind for meaning in meanings}} == set(words)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_a_sentence(word):
    for meaning in WORDS[word]:
        assert len(meaning.sentence) > 10
        assert not meaning.sentence.endswith(".")


@pytest.mark.parametrize(
    ("page", "section", "said"),
    [
        ("README.md", "The operations", {name: operation.sentence for name, operation in OPERATIONS.items()}),
        ("conventions.md", "Conventions", {name: convention.sentence for name, convention in CONVENTIONS.items()}),
        ("goldens-and-tolerance.md", "Profiles", PROFILES),
        ("conventions.md", "Capabilities", CAPABILITIES),
    ],
)
def test_words_are_explained_as_in_the_spec(page, section, said):
    assert rows(page, section) == dict(said)


def test_every_decision_that_is_named_is_there():
    named = {convention.decision for convention in CONVENTIONS.values() if convention.decision is not None}
    assert named
    assert all((ROOT / "spec" / "decisions" / f"{decision}.md").is_file() for decision in named)


def test_explain_shows_a_convention_with_its_choices_and_its_decision(capsys):
    assert main(["explain", "input_checks"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("input_checks (convention): whether wrong ranks, batch sizes and lengths are refused")
    assert "Choices: strict, which the spec takes as normative; lenient, none, which may be declared." in said
    assert "--convention input_checks=lenient" in said
    assert "spec/decisions/0003-refusals.md" in said


@pytest.mark.parametrize("kind", ["capabilities", "statuses", "profiles", "checks"])
def test_a_kind_of_words_lists_them(kind, capsys):
    assert main(["explain", kind]) == 0
    said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert said == {word.word: word.sentence for word in vocabulary.words_of_kind(kind)}
    assert said


def test_a_word_of_several_kinds_is_explained_as_each(capsys, monkeypatch):
    plain = {"memory": (vocabulary.Word("memory", "profile", "one"), vocabulary.Word("memory", "capability", "two"))}
    monkeypatch.setattr(vocabulary, "vocabulary_words", lambda: plain)
    assert main(["explain", "memory"]) == 0
    assert capsys.readouterr().out == "memory (profile): one\n\nmemory (capability): two\n"


def test_explain_prints_json(capsys):
    assert main(["explain", "smoke", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["word"] == "smoke"
    assert document["explanation"][0].startswith("smoke (profile): the fewest cases")


def test_of_an_unknown_word_the_near_ones_are_named(capsys):
    assert main(["explain", "inpt_checks"]) == 2
    assert "Did you mean input_checks" in capsys.readouterr().err
    assert main(["explain", "inpt_checks", "--json"]) == 2
    assert capsys.readouterr().out == ""
