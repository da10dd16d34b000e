"""Text of an adapter: from guesses about a function, or a skeleton to fill in."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from attnspec.contract import EXAMPLES, OPERATIONS
from attnspec.contract.operation import REQUIRED
from attnspec.scaffold.functions import Found
from attnspec.scaffold.kernels import Kernels
from attnspec.scaffold.naming import Call

Declared = str | tuple[str, ...] | dict[str, str]
"""Value of a declaration: a word, words, or a choice by name."""

DECLARED = ("tensors", "layout", "dtypes", "conventions", "without")
"""Declarations of an adapter, in the order in which they are written."""

_LONGEST_LINE = 100


@dataclass(frozen=True)
class Draft:
    """An adapter to be written; `reasons` has, for a declaration or ``names``, why it is or could not be guessed.

    `returns` has for an output where it is in what is ``returned``; empty where that is returned as it is. `handed` is
    how the first argument is handed over, what restores the first output, and a guard; None for neither.
    """

    found: Found
    call: Call
    declared: Mapping[str, Declared] = field(default_factory=dict[str, "Declared"])
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    returns: Mapping[str, str] = field(default_factory=dict[str, str])
    handed: tuple[str, str, str] | None = None


def adapter_text(draft: Draft, path: Path) -> str:
    """Return the adapter's file; `path`, where it is going to be, says from where it imports."""
    found, call = draft.found, draft.call
    head, _, rest = found.attribute.partition(".")
    arguments = {name for each in call.passed for name in (each.argument, each.buffer, *each.uses)}
    alias = f"own_{head}" if head in {call.operation.name, *DECLARED, *arguments, "returned"} else head
    own_call = f"{alias}{'.' + rest if rest else ''}"
    body = _body(draft, own_call)
    libraries = [line for line, begin in _LIBRARIES if any(begin in each for each in body)]
    lines = [
        f'"""{found.module}.{found.attribute} as {call.operation.name}, begun by `attnspec init`.',
        "",
        "What is marked as guessed comes from its signature and from probes: correct what is not meant.",
        '"""',
        "",
        *import_lines(found, path, libraries),
        f"from {found.module} import {head}" + ("" if alias == head else f" as {alias}"),
        "",
    ]
    for name in DECLARED:
        lines += _declaration(name, draft)
    lines += ["", ""]
    if "names" in draft.reasons:
        lines.append(f"# guessed: {draft.reasons['names']}")
    lines += [f"# left at its own default: {name}" for name in call.left]
    lines += _wrapped_call(f"def {call.operation.name}(", _signature(call), "):", "")
    return "\n".join([*lines, *body, ""])


_LIBRARIES = (("import numpy as np", "np."), ("import torch", "torch."))


def _body(draft: Draft, own_call: str) -> list[str]:
    """Return the lines of the adapter's function: guards, buffers, the call, and its outputs by name."""
    call, layout = draft.call, draft.declared.get("layout")
    layout = layout if isinstance(layout, str) else None
    kernels = Kernels(call.operation.name)
    lines = [
        f"    # fill in: what {each.own} is, which the function demands" for each in call.passed if each.is_unknown
    ]
    guards = [guard for each in call.passed for guard in each.guards]
    first, (query, restored, guard) = next(iter(call.operation.inputs), ""), draft.handed or ("", "{}", "")
    for condition, _, says in (each.partition("|") for each in (*guards, *([guard] if guard else []))):
        lines += [f"    if {condition}:", f'        raise NotImplementedError("{says or "another number of tokens"}")']
    if query:
        lines.append(f"    {first} = {query}")
    buffers = [each.buffer for each in call.passed if each.buffer is not None]
    lines += [f"    {line}" for line in kernels.buffer_lines(buffers, layout, str(draft.declared.get("tensors")))]
    given: list[str] = []
    for each in call.passed:
        expression = kernels.written_out(each.expression, layout)
        given.append(expression if each.by_position else f"{each.own}={expression}")
    if buffers:
        lines += _wrapped_call(f"    {own_call}(", given, ")", "    ")
        outputs = {name: name for name in buffers}
    elif draft.returns:
        # What is written in place is read where it was given.
        kept = "returned = " if any("returned" in each for each in draft.returns.values()) else ""
        lines += _wrapped_call(f"    {kept}{own_call}(", given, ")", "    ")
        outputs = dict(draft.returns)
    elif restored == "{}":
        return [*lines, *_wrapped_call(f"    return {own_call}(", given, ")", "    ")]
    else:
        lines += _wrapped_call(f"    returned = {own_call}(", given, ")", "    ")
        outputs = {call.operation.outputs[0]: "returned"}
    outputs = {
        name: restored.format(each) if name == call.operation.outputs[0] else each for name, each in outputs.items()
    }
    if len(outputs) == 1:
        return [*lines, f"    return {next(iter(outputs.values()))}"]
    pairs = [f'"{name}": {expression}' for name, expression in outputs.items()]
    return [*lines, *_wrapped_call("    return {", pairs, "}", "    ")]


def _wrapped_call(begin: str, parts: Sequence[str], end: str, indent: str) -> list[str]:
    """Return a call on one line, or with a line for each part where that would be too long."""
    line = f"{begin}{', '.join(parts)}{end}"
    return (
        [line] if len(line) <= _LONGEST_LINE else [begin, *(f"{indent}    {part}," for part in parts), f"{indent}{end}"]
    )


def import_lines(found: Found, path: Path, libraries: Sequence[str] = ()) -> list[str]:
    """Return the lines that import libraries, and make the module importable from another folder than its own."""
    others = [*libraries, ""] if libraries else []
    if found.folder is None or found.folder == path.resolve().parent:
        return others
    relative = os.path.relpath(found.folder, path.resolve().parent).replace(os.sep, "/")
    path_line = f'sys.path.insert(0, str(Path(__file__).parent / "{relative}"))'
    return ["import sys", "from pathlib import Path", "", *others, path_line, ""]


def _declaration(name: str, draft: Draft) -> list[str]:
    declared, why = draft.declared.get(name), draft.reasons.get(name)
    if not declared:
        return [] if why is None else [f"# {name}: {why}"]
    reason = [] if why is None else [f"# guessed: {why}"]
    if isinstance(declared, str):
        return [*reason, f'{name} = "{declared}"']
    if isinstance(declared, tuple):
        words = ", ".join(f'"{word}"' for word in declared)
        return [*reason, f"{name} = ({words}{',' if len(declared) == 1 else ''})"]
    return [*reason, f"{name} = {{", *(f'    "{key}": "{choice}",' for key, choice in declared.items()), "}"]


def _signature(call: Call) -> list[str]:
    """Return the parameters of the adapter: those of every case, then the rest by keyword, with its own default."""
    given = {each.argument: each for each in call.passed if each.argument is not None}
    used = {name: replace(each, default="None") for each in call.passed for name in each.uses}
    given = {**used, **given}
    required = call.operation.required_arguments
    others = [argument for argument in call.operation.arguments if argument in given and argument not in required]
    optional = [
        argument if given[argument].default is None else f"{argument}={given[argument].default}" for argument in others
    ]
    return [*required, *(["*"] if optional else []), *optional]


def skeleton_adapter(operation: str) -> str:
    """Return an adapter that runs and offers nothing of `operation` yet, with all that it may declare as comments."""
    known = OPERATIONS[operation]
    stated = {name: default for name, default in known.attributes.items() if default is not REQUIRED}
    optional = [
        *(f"{name}=None" for name in known.optional_inputs),
        *(f'{name}="{each}"' if isinstance(each, str) else f"{name}={each!r}" for name, each in stated.items()),
    ]
    parts = [*known.required_arguments, *(["*"] if optional else []), *optional]
    has_backward = any(other.backward_of == operation for other in OPERATIONS.values())
    backward = '# backward = "autograd"  # its gradients are validated, too, as the library of its tensors gives them\n'
    template = Path(__file__).with_name("skeleton.txt").read_text(encoding="utf-8")
    return template.format(
        operation=operation,
        signature="".join(f"    {part},\n" for part in parts),
        sentence=f"{known.sentence[:1].upper()}{known.sentence[1:]}",
        backward=backward if has_backward else "",
        convention=EXAMPLES.convention,
        choice=EXAMPLES.choice,
    )
