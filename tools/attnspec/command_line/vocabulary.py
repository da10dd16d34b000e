"""Vocabulary of reports: every word that is no id, its kind and its meaning.

The families bring the words of their conventions, operations, profiles and layouts; the others stand in
``vocabulary.json``. A new kind of word is one entry of `_KINDS`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from attnspec.contract import CAPABILITIES, CONVENTIONS, LAYOUTS_IN_WORDS, OPERATIONS, PROFILES


class Word(NamedTuple):
    """Word with its kind (a status, a convention), its meaning in a sentence, and `more` lines."""

    word: str
    kind: str
    sentence: str
    more: tuple[str, ...] = ()


_GOLDENS = "spec/goldens-and-tolerance.md"


def vocabulary_words() -> Mapping[str, tuple[Word, ...]]:
    """Return every word with its meanings; a word may name a profile and an operation."""
    found: dict[str, tuple[Word, ...]] = {}
    for of_kind in _KINDS.values():
        for word in of_kind():
            found[word.word] = (*found.get(word.word, ()), word)
    return found


def words_of_kind(plural: str) -> tuple[Word, ...]:
    """Return the words of a kind that is named in the plural, such as ``capabilities``; none where there is no such."""
    return next((tuple(found()) for kind, found in _KINDS.items() if _plural(kind) == plural), ())


def plurals() -> tuple[str, ...]:
    """Return the kinds of words, in the plural."""
    return tuple(map(_plural, _KINDS))


def _plural(kind: str) -> str:
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _written(
    kind: str, *more: str, words: Mapping[str, str] | None = None, called: str = ""
) -> Callable[[], Iterable[Word]]:
    """Return a function giving words of a sentence each, else those of ``vocabulary.json``; ``{}`` in `more` is one."""

    def found() -> Iterable[Word]:
        sentences = words or json.loads(Path(__file__).with_name("vocabulary.json").read_bytes())[kind]
        for word, sentence in sentences.items():
            yield Word(word, called or kind, sentence, tuple(line.format(word) for line in more))

    return found


def _conventions() -> Iterable[Word]:
    for convention in CONVENTIONS.values():
        normative, *others = convention.choices
        concerned = [name for name, operation in OPERATIONS.items() if convention.name in operation.conventions]
        more = (
            f"Choices: {normative}, which the spec takes as normative; {', '.join(others)}, which may be declared.",
            f"It concerns {', '.join(concerned)}.",
            f"To declare it: --convention {convention.name}={others[0]}",
            f"Why: spec/decisions/{convention.decision}.md" if convention.decision else "More: spec/conventions.md",
        )
        yield Word(convention.name, "convention", convention.sentence, more)


def _operations() -> Iterable[Word]:
    for operation in OPERATIONS.values():
        optional = ", ".join([*operation.optional_inputs, *operation.attributes])
        more = (
            *([f"It takes {', '.join(operation.inputs)}."] if operation.inputs else []),
            *([f"Arguments that a case may leave out, or that are no tensors: {optional}."] if optional else []),
            f"It gives {', '.join(operation.outputs)}; the first is always expected.",
            f"Conventions: {', '.join(operation.conventions)}.",
            f"Its page, with every clause: spec/operations/{operation.family}/{operation.name}.md",
        )
        yield Word(operation.name, "operation", operation.sentence, more)


_KINDS: Mapping[str, Callable[[], Iterable[Word]]] = {
    "operation": _operations,
    "convention": _conventions,
    "profile": _written("profile", "Its cases: attnspec list --profile {}", words=PROFILES),
    "profile of all": _written("profile of all", "Its cases: attnspec list --profile {}", called="profile"),
    "layout": _written("layout", "To validate in it: --layout {}", words=LAYOUTS_IN_WORDS),
    "capability": _written("capability", "Where it is not offered: --without {}", words=CAPABILITIES),
    "dtype": _written("dtype"),
    "status": _written("status", f"More: {_GOLDENS}, Verdicts"),
    "check": _written("check"),
    "conformance": _written("conformance", f"More: {_GOLDENS}, Verdicts"),
    "certainty": _written("certainty", called="certainty of a diagnosis"),
    "ending": _written("ending", called="ending of a run"),
    "number": _written("number"),
    "measure": _written("measure", f"More: {_GOLDENS}, Tolerance", called="word of the report"),
}
"""Kind of word to what gives its words, in the order in which a word of several kinds is explained."""
