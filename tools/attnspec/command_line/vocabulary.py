"""Vocabulary of reports: every word that is no id, its kind and its meaning.

The families bring the words of their conventions, operations, profiles and layouts; the others stand here. A new kind
of word is one entry of `_KINDS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnspec.cases.selecting import SMOKE_PROFILE
from attnspec.contract import CAPABILITIES, CONVENTIONS, LAYOUTS_IN_WORDS, OPERATIONS, PROFILES
from attnspec.contract.dtypes import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attnspec.contract.convention import Convention
    from attnspec.contract.operation import Operation


class Word(NamedTuple):
    """Word with its kind (a status, a convention), its meaning in a sentence, and `more` lines."""

    word: str
    kind: str
    sentence: str
    more: tuple[str, ...] = ()


STATUSES = {
    "pass": "every value, shape and dtype is as it must be, inputs and earlier outputs are unchanged, and a second run "
    "agrees",
    "ungraded": "nothing is wrong, but none of the elements was graded",
    "fail": "a value, shape or dtype is not as it must be, inputs or earlier outputs were changed, a second run "
    "disagrees, or an input that must be refused was taken",
    "unsupported": "the implementation says that it does not offer this",
    "error": "it raised an exception on valid input",
    "crash": "its process ended",
    "timeout": "no answer came in time",
    "malformed": "the answer is no set of outputs",
}
"""How a case ends, in each dtype."""

CHECKS = {
    "values": "each element lies within its tolerance of what is expected",
    "dtype": "each output has a dtype that it may have: that of the inputs, or a wider one where that is allowed",
    "shape": "each output has the shape that is expected",
    "inputs_unchanged": "the inputs hold after the call what they held before",
    "outputs_unchanged": "what a call returned stays as it is while later calls run",
    "repeatable": "the same inputs give the same outputs again, whatever ran between, and others do where one argument "
    "changes on which the output depends",
    "rejects": "an input that must be refused is answered by an error",
}
"""Checks of an answer; where one fails, the status is `fail`."""

CONFORMANCES = {
    "conforms": "every clause was graded and nothing is wrong",
    "conforms in part": "some clauses were graded and nothing is wrong: what it does, it does right",
    "does not conform": "something is wrong, or nothing was graded at all",
}

CERTAINTIES = {
    "it is": "a check says which clause is broken, or a known mistake gives the very numbers that came back",
    "most likely": "one mistake or one clause stands out, and something is not sure of it",
    "one of these": "it is one of the mistakes or clauses that are named; these results do not tell which",
    "it lies in": "no clause stands out: the cause lies somewhere in what the failing cases exercise",
}
"""How sure a diagnosis is of the clauses that it names."""

ENDINGS = {
    "crashed": "the process ended before the run did; --isolate starts it again after a crash",
    "interrupted": "somebody ended the run; the report holds what there was",
    "given up": "calls timed out one after the other; --give-up-after N goes on longer",
}
"""Why a run did not reach its end."""

DTYPES = {
    "float64": "53 significant bits, 15 decimal digits",
    "float32": "24 significant bits, 7 decimal digits",
    "float16": "11 significant bits, 3 decimal digits, nothing beyond 65504: half precision",
    "bfloat16": "8 significant bits, 2 decimal digits, the range of float32: half precision",
    ANY: "the case has no float input, and so it is run once",
}

NUMBERS = {
    "nan": "not a number, which JSON cannot write",
    "inf": "infinity, which JSON cannot write; as error / tolerance: wrong where nothing but the exact value is right",
    "-inf": "minus infinity, which JSON cannot write",
}

MEASURES = {
    "tolerance": "how far an element may lie from its expected value; derived from the dtype and the case's numbers",
    "ratio": "error divided by tolerance; above 1 fails",
    "unknown": "no mistake of the catalogue explains the failures",
}

_SMOKE = {SMOKE_PROFILE: "the fewest cases of all profiles that notice every known mistake; computed, not chosen"}

_GOLDENS = "spec/goldens-and-tolerance.md"


def words() -> Mapping[str, tuple[Word, ...]]:
    """Return every word with its meanings; a word may name a profile and an operation."""
    found: dict[str, tuple[Word, ...]] = {}
    for of_kind in _KINDS.values():
        for word in of_kind():
            found[word.word] = (*found.get(word.word, ()), word)
    return found


def of_kind(plural: str) -> tuple[Word, ...]:
    """Return the words of a kind that is named in the plural, such as ``capabilities``; none where there is no such."""
    found = next((of_kind for kind, of_kind in _KINDS.items() if _plural(kind) == plural), None)
    return () if found is None else tuple(found())


def plurals() -> tuple[str, ...]:
    """Return the kinds of words, in the plural."""
    return tuple(map(_plural, _KINDS))


def _plural(kind: str) -> str:
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _plain(kind: str, sentences: Mapping[str, str], *more: str) -> Callable[[], Iterable[Word]]:
    """Return a function giving words that have a sentence each; in `more`, ``{}`` stands for the word."""
    return lambda: (
        Word(word, kind, sentence, tuple(line.format(word) for line in more)) for word, sentence in sentences.items()
    )


def _conventions() -> Iterable[Word]:
    return map(_convention, CONVENTIONS.values())


def _convention(convention: Convention) -> Word:
    normative, *others = convention.choices
    concerned = [name for name, operation in OPERATIONS.items() if convention.name in operation.conventions]
    more = (
        f"Choices: {normative}, which the spec takes as normative; {', '.join(others)}, which may be declared.",
        f"It concerns {', '.join(concerned)}.",
        f"To declare it: --convention {convention.name}={others[0]}",
        f"Why: spec/decisions/{convention.decision}.md" if convention.decision else "More: spec/conventions.md",
    )
    return Word(convention.name, "convention", convention.sentence, more)


def _operations() -> Iterable[Word]:
    return map(_operation, OPERATIONS.values())


def _operation(operation: Operation) -> Word:
    optional = [*operation.optional_inputs, *operation.attributes]
    more = (
        *([f"It takes {', '.join(operation.inputs)}."] if operation.inputs else []),
        *([f"Arguments that a case may leave out, or that are no tensors: {', '.join(optional)}."] if optional else []),
        f"It gives {', '.join(operation.outputs)}; the first is always expected.",
        f"Conventions: {', '.join(operation.conventions)}.",
        f"Its page, with every clause: spec/operations/{operation.family}/{operation.name}.md",
    )
    return Word(operation.name, "operation", operation.sentence, more)


_KINDS: Mapping[str, Callable[[], Iterable[Word]]] = {
    "operation": _operations,
    "convention": _conventions,
    "profile": _plain("profile", PROFILES, "Its cases: attnspec list --profile {}"),
    "profile of all": _plain("profile", _SMOKE, "Its cases: attnspec list --profile {}"),
    "layout": _plain("layout", LAYOUTS_IN_WORDS, "To validate in it: --layout {}"),
    "capability": _plain("capability", CAPABILITIES, "Where it is not offered: --without {}"),
    "dtype": _plain("dtype", DTYPES),
    "status": _plain("status", STATUSES, f"More: {_GOLDENS}, Verdicts"),
    "check": _plain("check", CHECKS),
    "conformance": _plain("conformance", CONFORMANCES, f"More: {_GOLDENS}, Verdicts"),
    "certainty": _plain("certainty of a diagnosis", CERTAINTIES),
    "ending": _plain("ending of a run", ENDINGS),
    "number": _plain("number", NUMBERS),
    "measure": _plain("word of the report", MEASURES, f"More: {_GOLDENS}, Tolerance"),
}
"""Kind of word to what gives its words, in the order in which a word of several kinds is explained."""
