"""Sentences that reports share, each built once, from names, numbers and strings.

A sentence that one report alone has is made there. Nothing here is escaped or made harmless for a format, but for the
name of an implementation.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal

from attnspec.base.plain_text import plain_text
from attnspec.contract import TITLES
from attnspec.contract.declarations import is_other_value
from attnspec.contract.dtypes import ANY
from attnspec.grading import NOT_GRADED
from attnspec.reports.taken_arguments import NEVER_GIVEN
from attnspec.specification import clause_text, clauses, errata

PASSED_OF_TRIED = "passed of tried"
CLAUSES_GRADED = "clauses graded"
"""Headings that several reports share."""

_FUNCTIONS_NAMED = 5
_OPERATIONS_NAMED = 3

EndedEarly = Literal["crashed", "interrupted", "given up"]
"""Why a run has not reached its end."""

_WHY_ENDED: Mapping[EndedEarly | None, str] = {
    "crashed": "the process had ended. With --isolate it is started again after a crash.",
    "interrupted": "the run was interrupted.",
    "given up": "calls timed out one after the other. --give-up-after N goes on longer, --timeout waits longer.",
    None: "the run ended early.",
}


def counted(count: int, one: str, several: str | None = None) -> str:
    """Return a number with what it counts: ``1 case``, ``3 cases``."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def more(count: int, what: str = "", *, whole_in: str = "") -> str:
    """Return that a list goes on, its kind, and where to find it whole."""
    said = f"… and {count} more{what and f' {what}'}"
    return f"{said}; {whole_in} has them all." if whole_in else said


def as_sentence(said: str) -> str:
    """Return words with a full stop, unless they end as a sentence does."""
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."


def names(shown: Sequence[str], count: int) -> str:
    """Return the first names of a list of `count`, and how many follow."""
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def dtype_name(dtype: str) -> str:
    """Return the title of a column for one dtype."""
    return "no floats" if dtype == ANY else dtype


# The run as a whole.


def functions_not_graded(names: Sequence[str], adapter: str) -> str | None:
    """Return that functions beside the operations in the user's own file are not graded; None where there are none."""
    if not names:
        return None
    more = f" and {len(names) - _FUNCTIONS_NAMED} more" if len(names) > _FUNCTIONS_NAMED else ""
    them, file = "it" if len(names) == 1 else "them", PurePath(adapter).name
    return (
        f"Not graded: {', '.join(names[:_FUNCTIONS_NAMED])}{more} ({file} defines {them}; "
        f"{adapter}:{names[0]} grades one function)."
    )


WARNED = "Your code warned "
"""Beginning of the sentence on warnings, by which reports find it."""


def warned(warnings: Sequence[tuple[int, str]]) -> str | None:
    """Return how often an implementation's own code warned, and its first warning; None where it did not."""
    count = sum(times for times, _ in warnings)
    return f"{WARNED}{'once' if count == 1 else f'{count:,} times, first'}: {warnings[0][1]}." if warnings else None


def layout_sentence(layout: str | None, not_arranged: Sequence[str]) -> str | None:
    """Return the layout in which an implementation was called; None for the contract's own.

    The operations `not_arranged` have no other form in it.
    """
    if layout is None:
        return None
    stay = ", ".join(not_arranged) if len(not_arranged) <= _OPERATIONS_NAMED else f"{len(not_arranged)} operations"
    pages = "its page" if len(not_arranged) == 1 else "their pages"
    return f"It was called in the layout {layout}{f'; {stay} as on {pages}' if not_arranged else ''}."


def ungraded_arguments(arguments: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the arguments that nothing graded shows, from a report's ``arguments``; None where there are none.

    They are those that are taken, of which the first one has its reason, and those to which nothing was given.
    """
    never_given = [each for each in arguments if each["reason"] == NEVER_GIVEN]
    ungraded = [each for each in arguments if not each["graded"] and each["not_graded"]]
    said: list[str] = []
    if ungraded:
        first = ungraded[0]
        results = counted(first["not_graded"], "result")
        them = "it" if len(ungraded) == 1 else "them"
        shows = f"{results} would show {first['argument'] if len(ungraded) > 1 else 'it'}, and none was graded"
        named = f"Taken, and not graded: {_by_operation(ungraded)}"
        said.append(f"{named}. Code that ignores {them} passes as well: {shows} ({first['reason']}).")
    if never_given:
        said.append(f"Never given, and not graded: {_by_operation(never_given)}.")
    return " ".join(said) or None


def _by_operation(arguments: Sequence[Mapping[str, Any]]) -> str:
    of: dict[str, list[str]] = {}
    for each in arguments:
        of.setdefault(each["operation"], []).append(each["argument"])
    return "; ".join(f"{', '.join(taken)} of {operation}" for operation, taken in of.items())


def not_run_sentence(not_run: int | None, results: int, ended_early: EndedEarly | None) -> str | None:
    """Return how many (case, dtype) an unfinished run lacks beside its `results`, and why, where the report says.

    None where `not_run` is: the run reached its end.
    """
    if not_run is None:
        return None
    what = f"{not_run} of {not_run + results} not run" if not_run else "Not everything was run a second time"
    return f"{what}, because {_WHY_ENDED[ended_early]}"


def shown_name(name: str, version: str | None, conventions: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return name and version of an implementation, harmless and so short that the verdict after it is seen.

    Conventions are named under which it has another value of an attribute, always, than the page's default.
    """
    shown = plain_text(" ".join(filter(None, (name, version))), longest=80)
    values = plain_text(
        ", ".join(f"{key}={choice}" for key, choice in conventions.items() if is_other_value(key, choice))
    )
    return f"{shown} ({values})" if values else shown


def verdict_line(name: str, summary: Mapping[str, Any], not_run: int | None = None) -> str:
    """Return the verdict of a run in one line, from its summary as report.json has it.

    `not_run` counts (case, dtype) without a result, where the run ended early.
    """
    passed, tried, wrong = _tally(summary["statuses"])
    ungraded = f", {summary['statuses']['ungraded']} ungraded" if summary["statuses"].get("ungraded") else ""
    if summary["conformance"] == "conforms":
        return f"{name} conforms: {passed} of {tried} passed{ungraded}, every clause graded."
    if summary["conformance"] == "conforms in part":
        said = f"{passed} of {tried} passed{ungraded}, nothing wrong, {clauses_graded(summary)} clauses graded"
        return f"{name} conforms in part: {said}."
    left = ungraded + (f", {not_run} not run" if not_run else "")
    if wrong:
        return f"{name} does not conform: {wrong} of {tried} went wrong, {passed} passed{left}."
    if not_run is not None:
        return f"{name} was not validated to the end: {passed} of {tried} passed{left}."
    return f"{name} is neither right nor wrong: nothing could be graded ({sum(summary['statuses'].values())} tried)."


def short_verdict(summary: Mapping[str, Any]) -> str:
    """Return the verdict of a run in a few words."""
    _, tried, wrong = _tally(summary["statuses"])
    if summary["conformance"] == "conforms in part":
        return f"conforms in part: {clauses_graded(summary)} clauses"
    return f"{summary['conformance']}: {wrong} of {tried} wrong" if wrong else summary["conformance"]


def clauses_graded(summary: Mapping[str, Any]) -> str:
    """Return the number of graded clauses and of all."""
    return f"{summary['clauses_graded']} of {summary['clauses']}"


def _tally(counts: Mapping[str, int]) -> tuple[int, int, int]:
    """Return how many passed, how many were tried, and how many of these went wrong."""
    passed = counts.get("pass", 0)
    tried = sum(counts.values()) - sum(counts.get(status, 0) for status in NOT_GRADED)
    return passed, tried, tried - passed


def graded_of_expressible(graded: int, expressible: int) -> str | None:
    """Return how much was graded of what the call of a layer can say; None where it can say nothing."""
    if not expressible:
        return None
    share = f"{graded / expressible:.0%}"
    return f"Graded: {graded:,} of the {expressible:,} (case, dtype) that its call can express ({share})."


def numbers_compared(summary: Mapping[str, Any], fused: tuple[int, int] = (0, 0)) -> str | None:
    """Return how many numbers were compared and how close they came, without a full stop; None when none were.

    `fused`: of the passes in half precision graded unfused, how many would pass the fused grade too, and how many there
    are.
    """
    graded, not_graded, median = (summary[name] for name in ("elements_graded", "elements_not_graded", "median"))
    if not graded:
        return None
    said = f"{graded:,} numbers compared"
    if not_graded:
        said += f", {not_graded:,} not graded"
    if median is not None:
        said += f"; median error / tolerance {float(median):.2g}"
    if fused[1]:
        said += f"; of {fused[1]} passes in half precision, graded unfused, {fused[0]} would pass fused too"
    return said


def systematic_in_short(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return in one sentence how many of at least one that were fitted to all that passed are off, and the furthest."""
    wrong = sum(error["is_wrong"] for error in errors)
    first = max(errors, key=lambda error: (error["is_wrong"], abs(error["deviation"]) / error["limit"]))
    return (
        f"Systematic errors, fitted to all that passed: {wrong or 'none'} of {len(errors)} measured; the "
        f"furthest, in {first['operation']}: {first['sentence']}."
    )


_IN_PARTS = {
    "entries": "batch entries alone, beside others and in another order",
    "queries": "queries or tokens in calls of their own",
}
"""Property of batches to what was called."""


def invariance_in_short(measured: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each property of batches: how often parts have other bits than the whole, and where most."""
    said: list[str] = []
    for of, called in _IN_PARTS.items():
        entries = [each for each in measured if each["of"] == of]
        calls, differing = (sum(each[name] for each in entries) for name in ("calls", "differing"))
        if not calls:
            continue
        ending = "declared" if all(each["is_declared"] for each in entries) else "not declared, so not graded"
        if not differing:
            said.append(f"Batch invariant, {called}: the same bits in {counted(calls, 'call')}; {ending}.")
            continue
        furthest = max(entries, key=lambda each: float(each["units"]))
        where = f"{furthest['operation']} ({furthest['dtype']}): {furthest['sentence']}"
        said.append(
            f"Not batch invariant, {called}: other bits in {differing} of {calls}, furthest in {where}; {ending}."
        )
    return said


def made_by(version: str, digest: str, cases: int, environment: Mapping[str, str]) -> str:
    """Return the makers of a report (suite, harness), without a full stop."""
    ran_on = ", ".join(f"{name} {value}" for name, value in environment.items())
    return f"attnspec {version}, suite {digest[:12]}, {cases} cases; {ran_on}"


# Results not graded.

ONE_DTYPE_ALONE = "Graded in float64 alone: declare under `dtypes`, or with --dtype, in which others it is called."
"""For implementations without declared dtypes: a kernel is wrong in the narrower ones first."""

NUMBERS_ALONE = (
    "Numbers alone were graded, as they came in files: not whether a second call gives them again, nor whether inputs "
    "stay as they were, nor how inputs lie in memory."
)
"""For answers to exported cases."""


def family_left_out(family: str, cases: int) -> str:
    """Return that nothing of a family is offered."""
    return f"Not offered: {TITLES.get(family, family)} ({counted(cases, 'case')})."


def not_graded_in_short(reasons: Mapping[str, int], left_out: Iterable[str], room: int) -> str:
    """Return the results not graded in one line of at most `room` characters: reasons with counts, and how many more.

    `reasons` come with the most frequent first; `left_out` are the families of which nothing is offered.
    """
    reported = [f"{count} ({reason})" for reason, count in reasons.items()]
    reported += [f"all of {TITLES.get(family, family)}" for family in left_out]
    more_reasons = ["", *(f" and {counted(count, 'more reason')}; see --verbose" for count in range(1, len(reported)))]
    for shown in range(len(reported), 0, -1):
        said = f"Not graded: {', '.join(reported[:shown])}{more_reasons[len(reported) - shown]}."
        if len(said) <= room:
            return said
    frame = f"Not graded: {{}} …){more_reasons[-1] or '; see --verbose'}."
    return frame.format(reported[0][: max(room - len(frame) + 2, 0)].rstrip())


# Failures.


def went_wrong(wrong: int, tried: int) -> str:
    """Return how many of the results that were tried went wrong, above the problems behind them."""
    return f"{wrong} of {tried} went wrong:"


def unexpected(wrong: int) -> str:
    """Return how many failures of a gated run no baseline expects, above the problems behind them."""
    return f"{counted(wrong, 'unexpected failure')}:"


def what_is_right(declared: Mapping[str, Any], unit: str) -> str | None:
    """Return how much is right, where all else is about edges, from a report's ``could_be_declared``; else None.

    `unit` is what is counted: cases, or results of several dtypes.
    """
    left, about = declared["of"] - declared["fewer"], declared["left"]
    if about is None or _MOSTLY * declared["right"] < declared["of"]:
        return None
    edges = " or ".join("without elements" if each == "no_elements" else f"about {each}" for each in about)
    beside = f"; {counted(left, unit)} {edges} {'is' if left == 1 else 'are'} left" if left else ""
    return f"The mathematics is right in all {counted(declared['right'], unit)} that it takes{beside}."


def offer_of_an_adapter(target: str, operation: str | None) -> tuple[str, str]:
    """Return the command that finds out how a function wants to be called, after the sentence that says when."""
    stated = "" if operation is None else f" --as {operation}"
    sentence = "Most raised, or came in another shape or dtype. If it is called in another way, this finds out how:"
    return sentence, f"attnspec init {target}{stated}"


_MOSTLY = 4
"""More failures than so many times what is right, and nothing is said to be right: it is too little."""


def offer_to_declare(declared: Mapping[str, Any]) -> tuple[str, str]:
    """Return what would be left of the failures, and the options that declare the rest, in one line."""
    fewer, of = declared["fewer"], declared["of"]
    left = "none of them is left" if fewer == of else f"{of - fewer} of them {'is' if of - fewer == 1 else 'are'} left"
    conventions = ",".join(f"{name}={choice}" for name, choice in declared["conventions"].items())
    options = (("--without", ",".join(declared["without"])), ("--convention", conventions))
    line = " ".join(f"{option} {said}" for option, said in options if said)
    return f"If it is meant so, declare it, and {left}:", line


def ending_sentence(message: str, under: str | None) -> str:
    """Return how a result ended, with the declared conventions under which it was graded."""
    return f"{message} (graded under {under})" if under else message


def ending_with_status(status: str, said: str) -> str:
    """Return how a result ended, with its status where the words alone do not show it."""
    return said if status in ("fail", "error") else f"{status}: {said}"


def diverging_step(first: str | None, agreeing: Sequence[str]) -> str | None:
    """Return the sentence on the step that diverges first, after those that agree; None when there is no such step."""
    if first is None:
        return None
    if not agreeing:
        return f"The first step that diverges is {first!r}, the first one that was returned."
    agree = f"{', '.join(agreeing)} {'is' if len(agreeing) == 1 else 'are'} right"
    return f"The first step that diverges is {first!r}; {agree}."


def clause_in_words(clause: str) -> str:
    """Return a clause with its text; the id alone where this version of the spec does not know it."""
    known = clauses().get(clause)
    return f"{clause}: {known.text}" if known else clause


def see_also(erratum: str) -> str | None:
    """Return that an erratum bears on a case; None where this version of the spec does not know it."""
    known = errata().get(erratum)
    return None if known is None else f"See also erratum {erratum}: {known.title}"


def suspicion(clause: str, answers: int) -> str:
    """Return that every answer that exercises a clause went wrong."""
    who = "The one answer that exercises" if answers == 1 else f"All {answers} answers that exercise"
    known = clauses().get(clause)
    return f"{who} {clause} went wrong{f': {known.text}' if known else '.'}"


# Diagnoses.


def explained_share(operation: str, explains: int, of: int) -> str:
    """Return how many of the failures of an operation a mistake reproduces, or nothing known does."""
    return f"{explains} of {of} failures of {operation}"


def measured(sentence: str, confirmed: int) -> str:
    """Return a measured law, and how many further failures it gives."""
    if not confirmed:
        return f"Measured: {sentence}"
    return f"Measured: {sentence} {counted(confirmed, 'more failure')} {'is' if confirmed == 1 else 'are'} just so."


def how_sure(certainty: str) -> str:
    """Return the beginning of a sentence that names a mistake."""
    return {"most likely": "Most likely: ", "one of these": "Perhaps: "}.get(certainty, "")


def would_pass(undeclared: Mapping[str, Any]) -> str:
    """Return the convention under which failures would be none, and how to declare it."""
    declared = f"{undeclared['convention']}={undeclared['choice']}"
    where = f"in {' and '.join(undeclared['dtypes'])} " if undeclared["dtypes"] else ""
    passes, of = undeclared["passes"], undeclared["of"]
    of_failures = f"{passes} of {of} failures" if passes < of else f"all {of} failures" if of > 1 else "this failure"
    said = f"{of_failures} {where}would be {'none' if of > 1 else 'no failure'} under {declared}"
    return f"{said[0].upper()}{said[1:]}; where that is meant, declare it: --convention {declared}."


def would_pass_without(failures: int) -> str:
    """Return how many failures a systematic error accounts for."""
    return f"Without that, {counted(failures, 'failure')} would pass, too."


def broken_clause(clause: str) -> str:
    """Return the clause that a mistake breaks."""
    return f"It breaks {clause}: {clause_text(clause)}"


def what_to_do(remedy: str) -> str:
    """Return the remedy of a mistake."""
    return f"What to do: {remedy}"


def same_erratum(erratum: str) -> str:
    """Return the erratum of a source document that made the same mistake."""
    known = errata().get(erratum)
    return f"Erratum {erratum}: {known.title if known else 'see spec/errata.md'}"
