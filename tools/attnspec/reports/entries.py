"""Facts read from a report.json and its entries, for the reports that are made from it."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from attnspec.base.plain_text import plain_text
from attnspec.contract.dtypes import ANY
from attnspec.grading import OF_RUN, WRONG
from attnspec.reports import wording
from attnspec.targets.target import Target, invocation_fields

_SUSPICIONS = 3
_PARTIAL_EXPLANATIONS = 3
_LONGEST_WORD = 200


def is_of_run(case: str) -> bool:
    """Return whether an id is of the run as a whole, and of no case."""
    return profile_of(case) in OF_RUN


def implementation_name(document: Mapping[str, Any]) -> str:
    """Return name and version of the implementation, harmless."""
    implementation = document["implementation"]
    return wording.shown_name(implementation["name"], implementation["version"], implementation["conventions"])


def left_out_sentences(left_out: Mapping[str, int]) -> list[str]:
    """Return a line for each family of which nothing is offered."""
    return [wording.family_left_out(family, cases) for family, cases in left_out.items()]


def profile_of(case: str) -> str:
    """Return the profile of a case: the first part of its id."""
    return case.partition("/")[0]


def wrong_results(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the results at which the implementation did something wrong, in order, but those that a baseline knows."""
    return [result for result in document["results"] if result["status"] in WRONG and not is_known(result)]


def is_known(result: Mapping[str, Any]) -> bool:
    """Return whether a result is a failure that the baseline of a gated run expects."""
    return result["status"] in WRONG and "known" in result


def verdict(document: Mapping[str, Any]) -> str:
    """Return the verdict of a run in one line, harmless: the gate's word, where the run was gated."""
    if gate := document.get("gate"):
        return plain_text(gate["headline"])
    return wording.verdict_line(implementation_name(document), document["summary"], document.get("not_run"))


def finding_line(finding: Mapping[str, Any]) -> str:
    """Return the subject of a finding, if it has one, and its sentence."""
    return f"{finding['subject']}: {finding['sentence']}" if finding["subject"] else finding["sentence"]


def findings_apart(document: Mapping[str, Any]) -> list[str]:
    """Return what closes the gate beside wrong results, a line for each kind and subject, harmless."""
    wrong = {(result["case"], result["dtype"]) for result in wrong_results(document)}
    lines: dict[str, list[str]] = {}
    for finding in document.get("gate", {}).get("failing", ()):
        if (finding["subject"], finding["dtype"]) not in wrong:
            lines.setdefault(plain_text(finding_line(finding)), []).extend(filter(None, [finding["dtype"]]))
    return [f"{line} ({', '.join(dtypes)})" if dtypes else line for line, dtypes in lines.items()]


def by_operation(results: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return results by operation, in order."""
    return {of_operation[0]["operation"]: of_operation for of_operation in _grouped(results, itemgetter("operation"))}


def step_sentence(result: Mapping[str, Any]) -> str | None:
    """Return the sentence on the first diverging step of a result, or None when only one output was returned."""
    return wording.diverging_step(result["first_step"], result["agreeing_steps"])


def diagnosis_lines(diagnosis: Mapping[str, Any]) -> list[str]:
    """Return the lines that name a mistake, its clause, its remedy and the erratum; or say that it is unknown."""
    facts, attended, undeclared = diagnosis["facts"], diagnosis["attended"], diagnosis.get("undeclared")
    measured = [
        wording.measured(law["sentence"], law["confirmed"]) for law in diagnosis.get("laws", ()) if law["sentence"]
    ]
    would_pass = [] if undeclared is None else [wording.would_pass(undeclared)]
    if not diagnosis["sentence"]:
        partly = [_partly_explained(entry) for entry in diagnosis.get("candidates", ())[:_PARTIAL_EXPLANATIONS]]
        return [*unnamed_failures(diagnosis), *measured, *would_pass, *partly, *facts, *attended]
    share = wording.explained_share(diagnosis["operation"], diagnosis["explains"], diagnosis["of"])
    how = f"(this mistake, {diagnosis['mistake']}, reproduces {share})"
    lines = [
        f"{wording.how_sure(diagnosis.get('certainty', 'it is'))}{diagnosis['sentence']} {how}",
        wording.broken_clause(diagnosis["clause"]),
    ]
    if diagnosis["remedy"]:
        lines.append(wording.what_to_do(diagnosis["remedy"]))
    lines += would_pass
    if diagnosis["erratum"] is not None:
        lines.append(wording.same_erratum(diagnosis["erratum"]))
    if same := diagnosis.get("same"):
        breaks = "breaks" if len(same) == 1 else "break"
        lines.append(f"These results do not distinguish it from {', '.join(same)}, which {breaks} the same clause.")
    return [*lines, *measured, *attended, *facts]


def _partly_explained(candidate: Mapping[str, Any]) -> str:
    """Return a mistake that gives some of the numbers, with how many of the failures looked at."""
    failing = candidate["reproduced"] + candidate["opposed"] + candidate["elsewhere"]
    but = ", but would break cases that pass" if candidate["contradicted"] else ""
    return (
        f"{candidate['sentence']} (alone, this mistake, {candidate['mistake']}, gives the numbers of "
        f"{candidate['reproduced']} of the {failing} failures looked at{but})"
    )


def word_to_explain(diagnosis: Mapping[str, Any]) -> str | None:
    """Return the word for `attnspec explain`: the mistake, the clause, or the first suspected clause."""
    if diagnosis["clause"] is not None:
        return diagnosis["mistake"] if diagnosis["sentence"] else diagnosis["clause"]
    return next(iter(suspected_clauses(diagnosis)), None)


def suspected_clauses(diagnosis: Mapping[str, Any]) -> list[str]:
    """Return the clauses that a diagnosis reports as suspected, the likeliest first."""
    return [suspect["clause"] for suspect in diagnosis.get("suspects", ()) if suspect["is_told"]]


def unnamed_failures(diagnosis: Mapping[str, Any]) -> list[str]:
    """Return sentences on failures that no known mistake explains: the clause of a check, or the suspects."""
    operation, explains = diagnosis["operation"], diagnosis["explains"]
    share = wording.explained_share(operation, explains, diagnosis["of"])
    if diagnosis["clause"] is not None:
        return [f"In {share}, what breaks is {wording.clause_in_words(diagnosis['clause'])}"]
    reported = suspected_clauses(diagnosis)
    if not reported:
        return [f"No known mistake explains {share}."]
    first, *others = map(wording.clause_in_words, reported)
    failures = f"{wording.counted(explains, 'failure')} of {operation}, which no known mistake explains"
    broken = "One of these is broken" if others else "Most likely, this is broken"
    return [f"{broken}: {first} ({failures})", *(f"Or {other}" for other in others)]


def diagnosis_of(document: Mapping[str, Any], operation: str) -> list[str]:
    """Return the diagnosis of an operation's failures, line by line, harmless."""
    entries = [entry for entry in document["diagnosis"] if entry["operation"] == operation]
    return [plain_text(line) for entry in entries for line in diagnosis_lines(entry)]


def suspicions(document: Mapping[str, Any], operation: str) -> list[str]:
    """Return the clauses of an operation that no right answer exercises, those of most wrong answers first.

    For reports in which no mistake is named.
    """
    results = [result for result in document["results"] if result["operation"] == operation]
    wrong = Counter(clause for result in results if result["status"] in WRONG for clause in result["clauses"])
    right = {clause for result in results if result["status"] == "pass" for clause in result["clauses"]}
    suspected = [(clause, count) for clause, count in wrong.most_common() if clause not in right]
    return [plain_text(wording.suspicion(clause, count)) for clause, count in suspected[:_SUSPICIONS]]


def rerun_command(document: Mapping[str, Any], case: str, dtype: str) -> str:
    """Return the command that runs one (case, dtype) again; what is of the whole run takes all cases."""
    command, options = command_words(document)
    of_dtype = [] if dtype == ANY else ["--dtype", dtype]
    selected = [] if is_of_run(case) else ["--select", case]
    words = [*command, *selected, *of_dtype, *options]
    return shlex.join(plain_text(word, longest=_LONGEST_WORD) for word in words)


def command_words(document: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words that validate a report.json's implementation again, neither quoted nor made harmless.

    The first list precedes the words that select a case (command and target), the second follows them (options).
    """
    implementation, invocation = document["implementation"], document["invocation"]
    if invocation.get("export"):
        kept = [(name, invocation[name]) for name in ("answers", "golden") if invocation[name] is not None]
        return ["attnspec", "grade", implementation["adapter"]], [word for k, v in kept for word in (f"--{k}", v)]
    target = [*(["--command"] if invocation["command"] else []), implementation["adapter"]]
    # Texts and numbers stand as they are; the others have forms of their own.
    names = (*invocation_fields(Target()), "golden")
    values = {name: invocation.get(name) for name in names if name not in ("command", "isolate", "rename")}
    given = [(name, str(value)) for name, value in values.items() if value is not None]
    given += [("without", word) for word in implementation.get("without", ())]
    given += [("rename", f"{own}={argument}") for own, argument in invocation["rename"].items()]
    given += [("convention", f"{name}={choice}") for name, choice in implementation["conventions"].items()]
    options = [word for name, value in given for word in (f"--{name}", value)]
    return ["attnspec", "validate", *target], [*options, *(["--isolate"] if invocation["isolate"] else [])]


_MANY = 3
"""Cases from which on they are shown together."""


@dataclass(frozen=True)
class Failure:
    """Failures shown together, in the words for the first of them; `cases` and `dtypes` hold each id once.

    `ending` is the message with the declared conventions of its grading (`under`). `step` is None where one output was
    returned, `worst` where no numbers were compared. `clauses` are those the case exercises.
    """

    cases: tuple[str, ...]
    dtypes: tuple[str, ...]
    status: str
    check: str | None
    message: str
    ending: str
    step: str | None
    worst: str | None
    under: str | None
    clauses: tuple[str, ...]
    errata: tuple[str, ...]


class Failures(NamedTuple):
    """Failures by how they are shown: `by_case`, wrong numbers first; `together`, many cases with the same ending."""

    by_case: list[Failure]
    together: list[Failure]


def failure_of(results: Sequence[Mapping[str, Any]]) -> Failure:
    """Return the failure that some entries of a report's ``results`` form, which belong together."""
    first = results[0]
    message = first["message"] or first["status"]
    worst = first["worst"]
    return Failure(
        cases=tuple(dict.fromkeys(result["case"] for result in results)),
        dtypes=tuple(dict.fromkeys(result["dtype"] for result in results)),
        status=first["status"],
        check=first["check"],
        message=message,
        ending=wording.ending_sentence(message, first["under"]),
        step=step_sentence(first),
        worst=None if worst is None else _worst_element(worst),
        under=first["under"],
        clauses=tuple(first["clauses"]),
        errata=tuple(first["errata"]) if first["status"] == "fail" else (),
    )


def shown_failures(results: Sequence[Mapping[str, Any]]) -> Failures:
    """Divide a report's wrong ``results``, in their order, into those shown case by case and those shown together.

    Wrong numbers are shown case by case: they say more than any words.
    """
    by_case = [result for result in results if result["status"] == "fail"]
    together: list[Failure] = []
    others = [result for result in results if result["status"] != "fail"]
    for alike in _grouped(others, itemgetter("status", "message", "under")):
        if len({result["case"] for result in alike}) >= _MANY:
            together.append(failure_of(alike))
        else:
            by_case += alike
    return Failures([failure_of(of_case) for of_case in _grouped(by_case, itemgetter("case"))], together)


def _worst_element(worst: Mapping[str, Any]) -> str:
    numbers = {name: worst[name] for name in ("expected", "got", "error", "tolerance", "ratio")}
    reported = (f"{name} {value if isinstance(value, str) else f'{value:.9g}'}" for name, value in numbers.items())
    return f"Worst element {worst['output']}[{', '.join(map(str, worst['index']))}]: {', '.join(reported)}"


def _grouped(
    results: Iterable[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], object]
) -> list[list[Mapping[str, Any]]]:
    """Return entries by a key, in order."""
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return list(groups.values())
