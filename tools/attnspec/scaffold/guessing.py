"""Guesses of a function's adapter, one after another, each with its reason."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from attnspec.base.extensions import IS_LAYER, WRITTEN_LAYER, import_object
from attnspec.base.plain_text import plain_text
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, conventions_settling
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.scaffold.adapter_text import DECLARED, Declared, Draft, adapter_text, import_lines
from attnspec.scaffold.functions import Found
from attnspec.scaffold.naming import read_call
from attnspec.scaffold.trying import Answered, Prober, Tried, layouts_of
from attnspec.tensors.libraries import libraries_of

_ROUNDS = 3
"""Rounds: a declaration lets other failures show; a fourth after three was never seen to account for more."""

_FIRST, _SECOND = "float32", "float64"
"""The dtypes in which tensors and layout are looked for: most software computes in one of them."""


class Guessed(NamedTuple):
    """The text of an adapter, and a sentence for each thing that was guessed or could not be."""

    text: str
    said: tuple[str, ...]


class _Tried(NamedTuple):
    draft: Draft
    dtype: str
    answered: Answered


def guess_adapter(found: Found, operation: str | None, path: Path) -> Guessed:
    """Guess the adapter of a function, which is going to be at `path`; `UsageError` if its operation is not known."""
    if import_object(IS_LAYER)(found.function, operation):
        return Guessed(*import_object(WRITTEN_LAYER)(found.function, import_lines(found, path)))
    call = read_call(found, operation)
    said = [f"operation: {call.operation.name}, because {call.why}"]
    reasons: dict[str, str] = {}
    pairs = ", ".join(f"{each.own} is {each.argument}" for each in call.passed if each.argument not in (None, each.own))
    if pairs:
        by_order = f" ({', '.join(call.by_order)} by their order alone)" if call.by_order else ""
        reasons["names"] = f"{pairs}{by_order}"
        said.append(f"names: {pairs}{by_order}")
    said += [
        f"{name} is left at its own default: the operation has no argument for it, or its default cannot be written"
        for name in call.left
    ]
    said += [
        f"to fill in: the function demands {each.own}, which the operation does not have"
        for each in call.passed
        if each.argument is None
    ]
    draft = Draft(found, call, {}, reasons)
    prober = Prober(call.operation, path)
    tried = _tensors_and_layout(draft, prober)
    if tried.answered.answers == 0:
        why = f"not guessed, for no probe came back: {tried.answered.trouble or 'no case is plain enough'}"
        draft = replace(draft, reasons={**reasons, "layout": why})
        return Guessed(adapter_text(draft, path), (*said, f"tensors, layout, dtypes, conventions: {why}"))
    draft = _with_dtypes(tried, prober)
    said_of_wrong: list[str] = []
    draft = _with_fixed_attributes(draft, prober, said_of_wrong)
    draft = _with_declarations(draft, prober, said_of_wrong)
    for name in DECLARED:
        if name in draft.reasons:
            declared = draft.declared.get(name)
            said.append(f"{name}: {_in_words(declared)}{', because ' if declared else ''}{draft.reasons[name]}")
    return Guessed(adapter_text(draft, path), (*said, *said_of_wrong))


def _in_words(declared: Declared | None) -> str:
    if not declared:
        return ""
    if isinstance(declared, str):
        return declared
    words = [f"{key}={choice}" for key, choice in declared.items()] if isinstance(declared, dict) else declared
    return ", ".join(words)


def _try(draft: Draft, dtype: str, prober: Prober) -> _Tried:
    candidate = replace(draft, declared={**draft.declared, "dtypes": (dtype,)})
    return _Tried(candidate, dtype, prober.answered(candidate, dtype))


def _tensors_and_layout(draft: Draft, prober: Prober) -> _Tried:
    """Return the first tensors and layout with which the probes come back as expected; else the nearest."""
    best: _Tried | None = None
    libraries = libraries_of(draft.found.function, draft.found.module)
    libraries.setdefault("numpy", "it took NumPy's arrays")
    for library, why in libraries.items():
        for layout in layouts_of(draft.call.operation):
            declared = {"tensors": library} if library != "numpy" else {}
            reasons = {**draft.reasons} | ({"tensors": why} if declared else {})
            own_layout = layout == layouts_of(draft.call.operation)[0]
            with_layout = {**declared} if own_layout else {**declared, "layout": layout}
            candidate = replace(draft, declared=with_layout, reasons=reasons)
            tried = _try(candidate, _FIRST, prober)
            if not tried.answered.answers:
                tried = _try(candidate, _SECOND, prober)
            answered = tried.answered
            if answered.is_alike:
                if not own_layout:
                    reasons["layout"] = "the output is right there, and in no layout tried before"
                return tried
            if best is None or _rank(answered) < _rank(best.answered):
                best = tried
    assert best is not None
    if best.answered.answers:
        layout = best.draft.declared.get("layout", layouts_of(draft.call.operation)[0])
        why = f"what comes back is wrong in every layout, and nearest to what is expected in {layout}"
        return best._replace(draft=replace(best.draft, reasons={**best.draft.reasons, "layout": why}))
    return best


def _rank(answered: Answered) -> tuple[int, float]:
    return -answered.answers, answered.distance


def _with_dtypes(tried: _Tried, prober: Prober) -> Draft:
    """Declare the dtypes in which probes come back."""
    declared = tried.draft.declared
    answered = {
        dtype: prober.answered(replace(tried.draft, declared={**declared, "dtypes": (dtype,)}), dtype)
        for dtype in FLOAT_DTYPES
    }
    offered = tuple(dtype for dtype in FLOAT_DTYPES if answered[dtype].answers)
    others: dict[str, list[str]] = {}
    for dtype in FLOAT_DTYPES:
        if dtype not in offered:
            trouble = (answered[dtype].trouble or "no probe came back").replace(dtype, "that")
            others.setdefault(trouble, []).append(dtype)
    troubles = [f"not {', '.join(dtypes)}: {trouble}" for trouble, dtypes in others.items()]
    why = "; ".join(["probes came back in the dtype in which they were given", *troubles])
    return replace(
        tried.draft,
        declared={**declared, "dtypes": offered},
        reasons={**tried.draft.reasons, "dtypes": plain_text(why)},
    )


def _with_fixed_attributes(draft: Draft, prober: Prober, said: list[str]) -> Draft:
    """Declare the one value of an attribute that a function does not take, where cases distinguish values."""
    (dtype, *_) = draft.declared["dtypes"]
    taken = {each.argument for each in draft.call.passed}
    chosen: dict[str, str] = {}
    for name in conventions_settling(Settles.ATTRIBUTE):
        if name in taken or name not in draft.call.operation.attributes:
            continue
        _, *choices = CHOICES[name]
        with_choice = [replace(draft, declared={**draft.declared, "conventions": {name: choice}}) for choice in choices]
        found = [prober.right_where_stated(candidate, dtype, name) for candidate in with_choice]
        (right, of), choice = max(zip(found, choices, strict=True))
        if 2 * right > of and [each for each, _ in found].count(right) == 1:
            chosen[name] = choice
            said.append(f"{name}={choice} is declared, because {right} of {of} cases that state it are right under it")
        elif of:
            said.append(
                f"to declare: {name}, under no choice of which most cases that state it are right; "
                f"as long as it is not, it is graded as {draft.call.operation.defaults[name]}"
            )
    return replace(draft, declared={**draft.declared, "conventions": chosen}) if chosen else draft


def _with_declarations(draft: Draft, prober: Prober, said: list[str]) -> Draft:
    """Declare what accounts for most failures; a mistake is never declared away."""
    (dtype, *_) = draft.declared["dtypes"]
    undeclared = draft
    known = cast("dict[str, str]", draft.declared.get("conventions", {}))
    conventions = {**known}
    without: tuple[str, ...] = ()
    first: Tried | None = None
    for _ in range(_ROUNDS):
        tried = prober.tried(draft, dtype)
        first = first or tried
        if tried.declarations is None:
            break
        conventions |= tried.declarations.conventions
        without = tuple(dict.fromkeys((*without, *tried.declarations.without)))
        both: dict[str, Declared] = {"conventions": conventions, "without": without}
        declared = {name: value for name, value in both.items() if value}
        draft = replace(draft, declared={**draft.declared, **declared})
    else:
        tried = prober.tried(draft, dtype)
    assert first is not None
    lost = first.arguments - tried.arguments
    if lost:
        # An argument that is taken and never right is no matter of declarations: it may be ignored.
        tried, draft, conventions, without = first, undeclared, {**known}, ()
        said.append(f"nothing with {', '.join(sorted(lost))} is right, so that nothing is declared")
    if conventions != known or without:
        why = f"{first.wrong} cases in {dtype} went wrong without what is declared, and {tried.wrong} with it"
        reasons = {name: why for name in ("conventions", "without") if draft.declared.get(name)}
        draft = replace(draft, reasons={**draft.reasons, **reasons})
    if tried.wrong:
        said.append(f"{tried.wrong} of {tried.of} cases in {dtype} went wrong, and no declaration accounts for them")
    return draft
