"""Guesses of a function's adapter, one after another, each with its reason."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from attnspec.base.extensions import IS_LAYER, WRITTEN_LAYER, import_object
from attnspec.base.plain_text import plain_text
from attnspec.contract import CONVENTIONS, IN_LAYOUT, LAYOUT_SETTINGS, LAYOUTS
from attnspec.contract.convention import Settles
from attnspec.contract.declarations import CHOICES, conventions_settling
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.families.lookup import family_of
from attnspec.scaffold.adapter_text import DECLARED, Declared, Draft, adapter_text, import_lines
from attnspec.scaffold.functions import Found
from attnspec.scaffold.kernels import Kernels
from attnspec.scaffold.naming import Passed, read_calls
from attnspec.scaffold.trying import Answered, Prober, Tried, layouts_of
from attnspec.tensors.libraries import libraries_of

_ROUNDS = 3
"""Rounds: a declaration lets other failures show; a fourth after three was never seen to account for more."""

_TRIED_IN = ("float32", "float64", "float16", "bfloat16")
"""The dtypes in which tensors and layout are looked for, the likeliest first: some kernels have half precision only."""


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
    if not inspect.isroutine(found.function) and import_object(IS_LAYER)(found.function, operation):
        return Guessed(*import_object(WRITTEN_LAYER)(found.function, import_lines(found, path)))
    calls = [*read_calls(found, operation)]
    call = calls[0]
    said = [f"operation: {call.operation.name}, because {call.why}"]
    reasons: dict[str, str] = {}
    pairs = ", ".join(f"{each.own} is {each.argument}" for each in call.passed if each.argument not in (None, each.own))
    if pairs:
        by_order = f" ({', '.join(call.by_order)} by their order alone)" if call.by_order else ""
        reasons["names"] = f"{pairs}{by_order}"
        said.append(f"names: {pairs}{by_order}")
    if call.left:
        said.append(f"left at their own defaults: {', '.join(call.left)}")
    said += [
        f"to fill in: the function demands {each.own}, which the operation does not have"
        for each in call.passed
        if each.is_unknown
    ]
    kernels = Kernels(call.operation.name)
    draft = Draft(found, call, {}, reasons)
    prober = Prober(call.operation, path)
    every: list[_Tried] = []
    for each in (one for called in calls for one in _drafts(replace(draft, call=called), prober, kernels)):
        every.append(_tensors_and_layout(each, prober, kernels))
        if every[-1].answered.is_alike:
            break
    # Where none is right, the first that comes back at all is nearest to what is meant.
    tried = min(every, key=lambda each: (not each.answered.is_alike, not each.answered.answers))
    layout = tried.draft.declared.get("layout")
    # An own default that is not the contract's is said, too: the adapter hands over something else.
    given = [
        each
        for each in tried.draft.call.passed
        if not each.is_unknown and each.expression != each.argument and not each.forms
    ]
    said += [
        f"{each.own} is given {kernels.written_out(each.expression, layout if isinstance(layout, str) else None)}"
        for each in given
    ]
    if tried.answered.answers == 0:
        why = f"not guessed, for no probe came back: {tried.answered.trouble or 'no case is plain enough'}"
        # A layout that has arguments of its own is needed for the call, whatever comes back.
        own = [name for name in layouts_of(call.operation)[:1] if name != LAYOUTS[0]]
        draft = replace(draft, declared={"layout": own[0]} if own else {}, reasons={**reasons, "layout": why})
        return Guessed(adapter_text(draft, path), (*said, f"tensors, layout, dtypes, conventions: {why}", GUIDE))
    said_of_wrong: list[str] = []
    draft = _with_other_outputs(tried, prober, kernels)
    draft = _with_dtypes(tried._replace(draft=draft), prober)
    draft = _with_fixed_attributes(draft, prober, said_of_wrong)
    draft = _with_forms(draft, prober, said)
    draft = _with_declarations(draft, prober, said_of_wrong)
    said += [f"not tried: {guard.partition('|')[2]}" for each in draft.call.passed for guard in each.guards]
    for name in ("returns", *DECLARED):
        if name in draft.reasons:
            declared = draft.declared.get(name)
            said.append(f"{name}: {_in_words(declared)}{', because ' if declared else ''}{draft.reasons[name]}")
    if prober.over_time:
        limit = "validate --timeout SECONDS ends such calls"
        said_of_wrong.append(f"{len(prober.over_time)} of its calls did not end and had to be interrupted; {limit}")
    is_kernel = bool(draft.returns) or "layout" in draft.declared or any(each.argument is None for each in given)
    return Guessed(adapter_text(draft, path), (*said, *said_of_wrong, *([GUIDE] if is_kernel else [])))


GUIDE = "guide: spec/guides/kernel-interfaces.md has an adapter for each kind of kernel"
"""Where more is to be read."""


def _drafts(draft: Draft, prober: Prober, kernels: Kernels) -> list[Draft]:
    """Return a draft in each form of what comes back, and of what is always handed over, the likeliest first."""
    drafts = [draft] if any(each.buffer for each in draft.call.passed) else _with_first_output(draft, prober, kernels)
    output = draft.call.operation.outputs[0]
    # Another part of what is returned, as large, may be the output.
    drafts += [replace(draft, returns={output: form.format("returned")}) for form in kernels.output_forms(output)[1:]]
    return [form for each in drafts for form in _in_forms(each)]


def _with_first_output(draft: Draft, prober: Prober, kernels: Kernels) -> list[Draft]:
    """Return drafts with the first output in a part of what comes back, whatever the layout, the likeliest first."""
    operation = draft.call.operation
    for candidate in _called_otherwise(draft, layouts_of(operation), kernels):
        for dtype in _TRIED_IN:
            with_dtype = replace(candidate, declared={**candidate.declared, "dtypes": (dtype,)})
            for returned in prober.returned(with_dtype, dtype):
                if returned is None:
                    return [*_in_place(draft), draft]
                parts = _parts(returned)
                needed = [output.name for output in operation.gives if output.required]
                if len(needed) > 1 and len(parts) >= len(needed):
                    return [draft]
                usual = family_of(operation.name).usual_names().get(operation.outputs[0], ())
                named = [word for word in parts if isinstance(word, str) and word.lower() in usual]
                most = max((int(getattr(part, "ndim", 0)) for part in parts.values()), default=0)
                largest = [word for word, part in parts.items() if most and getattr(part, "ndim", 0) == most]
                found = dict.fromkeys([*named, *largest])
                return [replace(draft, returns={operation.outputs[0]: _part(where)}) for where in found] or [draft]
    return [draft]


def _in_place(draft: Draft) -> list[Draft]:
    """Return the draft of a function that writes its outputs into inputs, as a convention has it; else none."""
    operation = draft.call.operation
    for name in operation.conventions:
        written = [each for each in operation.inputs if each in CONVENTIONS[name].changes]
        if written:
            returns = dict(zip(operation.outputs, written, strict=False))
            return [replace(draft, declared={"conventions": {name: CHOICES[name][-1]}}, returns=returns)]
    return []


def _parts(returned: object) -> dict[int | str, Any]:
    """Return the parts of a tuple, a list or a mapping, by index or key; nothing for a single result."""
    if isinstance(returned, Mapping):
        return dict(cast("Mapping[int | str, Any]", returned))
    if isinstance(returned, tuple | list):
        return dict(enumerate(cast("Sequence[Any]", returned)))
    return {}


def _part(where: int | str) -> str:
    return f"returned[{where!r}]".replace("'", '"')


def _with_other_outputs(tried: _Tried, prober: Prober, kernels: Kernels) -> Draft:
    """Name the outputs beside the first by what they hold, and the convention under which they hold it."""
    draft, dtype = tried.draft, tried.dtype
    operation = draft.call.operation
    parts = _parts(next(iter(prober.returned(replace(draft, returns={}), dtype)), None))
    first = draft.returns.get(operation.outputs[0])
    if first is None or len(parts) < 2:
        return draft
    returns, unknown = dict(draft.returns), list[str]()
    conventions: dict[str, str] = {}
    for where in parts:
        part = _part(where)
        if part == first or not hasattr(parts[where], "ndim"):
            continue
        found = _output_of(replace(draft, returns=returns), part, prober, kernels, dtype)
        if found is None:
            unknown.append(part)
            continue
        name, expression, convention = found
        returns[name] = expression
        conventions |= convention
    why = ", ".join(f"{expression} is {name}" for name, expression in returns.items())
    left = f"; {', '.join(unknown)} is no output that is known" if unknown else ""
    declared = {**draft.declared, **({"conventions": conventions} if conventions else {})}
    return replace(
        draft, declared=declared, returns=returns, reasons={**draft.reasons, "returns": f"{why}, by its numbers{left}"}
    )


def _output_of(
    draft: Draft, part: str, prober: Prober, kernels: Kernels, dtype: str
) -> tuple[str, str, dict[str, str]] | None:
    """Return the output that a part holds, how, and the choice of a convention under which it does; None for none."""
    operation = draft.call.operation
    choices: list[dict[str, str]] = [{}]
    choices += [
        {name: choice}
        for name in conventions_settling(Settles.RESULTS)
        if name in operation.conventions
        for choice in CHOICES[name][1:]
    ]
    for name in operation.outputs[1:]:
        if name in draft.returns:
            continue
        for form in kernels.output_forms(name):
            candidate = replace(draft, returns={**draft.returns, name: form.format(part)})
            if not prober.answered(candidate, dtype, name).answers:
                continue
            for choice in choices:
                with_choice = {**candidate.declared, **({"conventions": choice} if choice else {})}
                if prober.answered(replace(candidate, declared=with_choice), dtype, name).is_alike:
                    return name, form.format(part), choice
    return None


def _with_forms(draft: Draft, prober: Prober, said: list[str]) -> Draft:
    """Choose how arguments are written that a function may want in another form than the contract's."""
    (dtype, *_) = draft.declared["dtypes"]
    for each in draft.call.passed:
        if len(each.forms) < 2:
            continue
        argument = each.argument or each.uses[0]
        candidates = [_in_form(draft, each, form) for form in each.forms]
        found = [prober.right_where_stated(candidate, dtype, argument) for candidate in candidates]
        # Of those with which as many are right, one that declines what it cannot say.
        ranks = [(right, right - of) for right, of in found]
        best = max(range(len(ranks)), key=lambda index: (ranks[index], index))
        draft = candidates[best] if ranks[best][0] else draft
        if ranks[best] > ranks[-1]:
            given = each.in_form(each.forms[best]).expression
            said.append(f"{argument}: {each.own} is given {given}, with which most cases are right")
    return draft


def _in_forms(draft: Draft) -> list[Draft]:
    """Return the draft in each form of what is always handed over, the likeliest first."""
    drafts = [draft]
    for each in draft.call.passed:
        if len(each.forms) > 1 and draft.found.parameters[each.own].default is inspect.Parameter.empty:
            drafts = [_in_form(one, each, form) for form in each.forms for one in drafts]
    return drafts


def _in_form(draft: Draft, passed: Passed, form: str) -> Draft:
    """Return the draft with a parameter handed over in one of its forms."""
    changed = [each.in_form(form) if each.own == passed.own else each for each in draft.call.passed]
    return replace(draft, call=replace(draft.call, passed=tuple(changed)))


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


def _candidates(draft: Draft, layouts: Sequence[str]) -> Iterator[Draft]:
    """Yield a draft in each layout with the tensors of each library that it may take, the likeliest first."""
    libraries = libraries_of(draft.found.function, draft.found.module)
    libraries.setdefault("numpy", "it took NumPy's arrays")
    for library, why in libraries.items():
        for layout in layouts:
            declared = {**draft.declared, **({"tensors": library} if library != "numpy" else {})}
            reasons = {**draft.reasons} | ({"tensors": why} if library != "numpy" else {})
            with_layout = {**declared} if layout == LAYOUTS[0] else {**declared, "layout": layout}
            yield replace(draft, declared=with_layout, reasons=reasons)


def _tensors_and_layout(draft: Draft, prober: Prober, kernels: Kernels) -> _Tried:
    """Return the first tensors and layout with which the probes come back as expected; else the nearest."""
    layouts = layouts_of(draft.call.operation)
    best: _Tried | None = None
    for candidate in _called_otherwise(draft, layouts, kernels):
        in_each = (_try(candidate, dtype, prober) for dtype in _TRIED_IN)
        tried = next((each for each in in_each if each.answered.answers), None) or _try(candidate, _TRIED_IN[0], prober)
        answered = tried.answered
        if answered.is_alike:
            if "layout" in candidate.declared:
                why = "the output is right there, and in no layout tried before"
                tried = tried._replace(draft=replace(tried.draft, reasons={**candidate.reasons, "layout": why}))
            return tried
        if best is None or _rank(answered) < _rank(best.answered):
            best = tried
    assert best is not None
    if best.answered.answers:
        layout = best.draft.declared.get("layout", LAYOUTS[0])
        why = f"what comes back is wrong in every layout, and nearest to what is expected in {layout}"
        return best._replace(draft=replace(best.draft, reasons={**best.draft.reasons, "layout": why}))
    return best


def _called_otherwise(draft: Draft, layouts: Sequence[str], kernels: Kernels) -> Iterator[Draft]:
    """Yield a draft in each layout; then with settings of layouts, other forms of queries, and excluded NaN let in."""
    for candidate in _candidates(draft, layouts):
        yield candidate
    lets_in = {
        name: choice
        for name, convention in CONVENTIONS.items()
        for choice, comes in convention.comes_as.items()
        if comes == "nan_or_infinity" and name in draft.call.operation.conventions
    }
    for base in layouts:
        # The contract's own layouts have none of this.
        if base not in IN_LAYOUT:
            continue
        settings = LAYOUT_SETTINGS.get(base, {})
        words = [""] + [
            f"{name}=16" if takes_number else name for name, takes_number in settings.items() if name != "strict_table"
        ]
        for word in words:
            layout = f"{base}:{word}" if word else base
            for handed in (None, *kernels.queries(base).values()):
                for conventions in ({}, lets_in):
                    for candidate in _candidates(replace(draft, handed=handed), [layout]):
                        declared = {**candidate.declared, **({"conventions": conventions} if conventions else {})}
                        yield replace(candidate, declared=declared)


def _rank(answered: Answered) -> tuple[bool, int, float]:
    return not answered.is_plain, -answered.answers, answered.distance


def _with_dtypes(tried: _Tried, prober: Prober) -> Draft:
    """Declare the dtypes in which probes come back as precise as they are given."""
    declared = tried.draft.declared
    answered = {
        dtype: prober.answered(replace(tried.draft, declared={**declared, "dtypes": (dtype,)}), dtype)
        for dtype in FLOAT_DTYPES
    }
    came = [dtype for dtype in FLOAT_DTYPES if answered[dtype].answers]
    rough = {dtype: answered[dtype].bits for dtype in came if answered[dtype].is_rougher_than(dtype)}
    # One in which all is wrong otherwise is called all the same, and so is the last one.
    offered = tuple(dtype for dtype in came if dtype not in rough) or (came[-1],)
    others: dict[str, list[str]] = {}
    for dtype in FLOAT_DTYPES:
        if dtype not in came:
            trouble = (answered[dtype].trouble or "no probe came back").replace(dtype, "that")
            others.setdefault(trouble, []).append(dtype)
        elif dtype not in offered:
            others.setdefault(
                f"its numbers have {rough[dtype]} bits there, so it computes in a narrower one", []
            ).append(dtype)
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
    known = cast("dict[str, str]", draft.declared.get("conventions", {}))
    for name in conventions_settling(Settles.ATTRIBUTE):
        if name in taken or name not in draft.call.operation.attributes:
            continue
        _, *choices = CHOICES[name]
        with_choice = [
            replace(draft, declared={**draft.declared, "conventions": {**known, name: choice}}) for choice in choices
        ]
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
    return replace(draft, declared={**draft.declared, "conventions": {**known, **chosen}}) if chosen else draft


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
        if tried.raised is not None:
            message, times = tried.raised
            said.append(
                f"to change, if that is not offered: {times} of them {message}; let the adapter raise "
                "NotImplementedError for these"
            )
    return draft
