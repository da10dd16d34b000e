"""Meaning of a mask as a layer's file states it: in documentation, in functions that make masks, in code that uses it.

A mask that does the opposite of what is stated is inverted by mistake, and its effect alone cannot show that.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.implementation import DOUBTED
from attnspec.tensors import tensors_called
from attnspec_modules.attention.finding.source import Source, functions_of
from attnspec_modules.attention.layer_reading import MaskForm

_TOKENS, _BATCH = 4, 2
_IDS = np.array([[5, 6, 0, 0]])
_LARGE = -1e3
"""A number below it is one that excludes where it is added."""

_OTHER = {"attend": "hide", "hide": "attend"}

_BATCHES = re.compile(r"^(?:b|bs|bsz|n_?batch|batch(?:_size)?)$", re.IGNORECASE)
_PAD = re.compile(r"pad")
_OF_IDS = re.compile(
    r"^(?:x|ids|seq|tokens?|src|tgt|trg|inputs?|(?:token|input)_ids|(?:src|tgt|trg)_(?:seq|ids|tokens))$"
)

_NOT_HIDDEN = r"\b(?:not|non|no)[ -](?:be )?(?:mask|pad|hid|ignor|block|exclu)|unmask"
_HIDES = (
    r"\b(?:not|never|cannot|can't)\b|\bhid(?:e|es|den|ing)\b|\bmask(?:ed|s)?(?: out| off|ed)\b|\bmasked\b|block|ignor|"
    r"exclud|\bpad(?:s|ding|ded)?\b|disallow|forbid|prohibit|future|prevent|illegal"
)
_ATTENDS = (
    r"attend|allow|visible|\bke(?:ep|eps|pt)\b|valid|participat|take[sn]? part|permit|"
    r"\b(?:be|is|are) (?:used|seen|looked at|read)\b|"
    r"\breal\b|includ"
)
_TRUTH = re.compile(r"\b(True|False|true|false)\b")
_NUMBER = re.compile(r"\b(True|False|true|false|[10](?:\.0)?|1s|0s|ones?|zeros?|non-?zero)\b(?!\s*[/*)\]])")
_FALSE = re.compile(r"false|0|zero", re.IGNORECASE)
_SHAPE = re.compile(r"[(\[]\s*[\w*]+(?:\s*[,x]\s*[\w*]+)+,?\s*[)\]]")
"""A shape, such as ``(B, 1, Sk)``: its 1 is no value of a mask."""


class Stated(NamedTuple):
    """What is True, or 1, in a mask, ``attend`` or ``hide``; ``add`` where numbers are added; and who says so."""

    meaning: str
    by: str


def stated_meaning(
    form: MaskForm, others: Sequence[str], layer_class: type, source: Source, library: str
) -> Stated | None:
    """Return what is stated of a mask beside `others` of the layer; None where nothing is, or this and that."""
    found = [
        *_of_words(form, others, source),
        *_of_functions(form, layer_class, library),
        *_of_examples(form, source),
    ]
    meanings = {stated.meaning for stated in found}
    if meanings & {*_OTHER} and "add" in meanings:
        # A layer may take truth values and numbers; the truth values are in question.
        found = [stated for stated in found if stated.meaning != "add"]
        meanings -= {"add"}
    return found[0] if len(meanings) == 1 else None


_SHOWN = {"attend": "1 may be attended", "hide": "1 hides", "add": "numbers are added"}

_USUALLY_HIDE = re.compile(r"pad(?:ding)?_mask|look_ahead|^masked")


def effect_in_words(form: MaskForm, stated: Stated | None, unclear: str | None) -> str:
    """Return how a mask's effect, which its form has, goes with what is stated of it; with doubts where it does not."""
    name, effect = form.name, _SHOWN[form.meaning]
    goes_with = stated is not None and (stated.meaning == form.meaning or (stated.meaning == "add" and form.adds))
    if stated is not None and not goes_with:
        done = "truth values are added as numbers, and hide nothing" if form.meaning == "add" else f"in effect {effect}"
        done = f"{name} changes nothing" if unclear else done
        believed = "" if stated.meaning == "add" else ", which is believed"
        return f"{DOUBTED}of {name}, {stated.by} {_SHOWN[stated.meaning]}{believed}; but {done}"
    if unclear is not None:
        return unclear
    if stated is not None:
        return f"of {name}, {stated.by} {_SHOWN[stated.meaning]}, and so it is"
    if form.meaning == "add":
        return f"{name} is added, so that it has to be 0 and -inf: truth values would hide nothing"
    usual = "hide" if _USUALLY_HIDE.search(name) else "attend"
    if form.meaning == usual:
        return f"of {name}, that {effect} is read off its effect"
    return (
        f"{DOUBTED}of {name}, that {effect} is read off its effect, and nothing in its file states it; under such a "
        f"name it is most often the opposite. If {_SHOWN[usual]} is meant, its mask is inverted"
    )


def takes_truth_values(form: MaskForm, source: Source) -> bool:
    """Return whether a layer's code looks whether a mask is Boolean, or its annotation says so."""
    return any(_is_of_truth_values(node, form.name) for root in source.own for node in ast.walk(root))


def _is_of_truth_values(node: ast.AST, name: str) -> bool:
    """Return whether code compares the dtype of an argument with that of truth values, or annotates it so."""
    if isinstance(node, ast.Compare):
        compared = ast.unparse(node.left)
        of_truth = any(re.search(r"\bbool_?\b", ast.unparse(each)) for each in node.comparators)
        return of_truth and name in compared and "dtype" in compared
    if isinstance(node, ast.arg) and node.arg == name and node.annotation is not None:
        return "Bool" in ast.unparse(node.annotation)
    return False


def _of_words(form: MaskForm, others: Sequence[str], source: Source) -> Iterator[Stated]:
    for piece in _pieces(source):
        names = [name for name in (form.name, *others) if re.search(rf"\b{re.escape(name)}\b", piece)]
        if (names and form.name not in names) or (not names and others):
            continue
        for meaning in _meanings_in(piece):
            yield Stated(meaning, "its documentation says")


def _pieces(source: Source) -> Iterator[str]:
    """Give what is said of one thing: a comment, a sentence of a docstring, or an entry of its list of arguments."""
    for said in (*source.said, ast.get_docstring(source.tree) or ""):
        for piece in re.split(r"\n\s*\n|\n(?=\s*[\w ,*]+(?:\([^)\n]*\))?\s*:)", said):
            if "mask" in piece.lower() or re.search(r"\b(?:bool|boolean)\b", piece):
                yield piece


def _meanings_in(piece: str) -> Iterator[str]:
    """Give what a text says of 1 and 0, or True and False: ``True: may attend``, ``1 for padding``."""
    piece = _SHAPE.sub("", piece)
    is_of_numbers = re.search(r"\binf\b|additive|\badd(?:s|ed)?\b|-1e", piece) is not None
    if is_of_numbers and not _TRUTH.search(piece):
        yield "add"
        return
    words = list((_TRUTH if is_of_numbers else _NUMBER).finditer(piece))
    for position, word in enumerate(words):
        end = words[position + 1].start() if position + 1 < len(words) else len(piece)
        after = re.split(r"[.;\n]\s", piece[word.end() : end][:70])[0]
        begin = words[position - 1].end() if position else 0
        before = re.split(r"[.;,\n(]\s?", piece[begin : word.start()])[-1][-50:]
        meaning = _predicate(after) or _predicate(before)
        if meaning is not None:
            yield _OTHER[meaning] if _FALSE.match(word[1]) else meaning


def _predicate(words: str) -> str | None:
    if re.search(_NOT_HIDDEN, words):
        return "attend"
    if re.search(_HIDES, words):
        return "hide"
    return "attend" if re.search(_ATTENDS, words) else None


def _of_functions(form: MaskForm, layer_class: type, library: str) -> Iterator[Stated]:
    """Give what the masks mean that functions of the file make, of causality or of padding."""
    found = [(name, _made_by(function, library)) for name, function in functions_of(layer_class, "mask").items()]
    kinds = {kind for _, made in found if made is not None for kind in [made[0]]}
    # Padding and causality may be said in opposite ways; a mask of all queries and keys is made for causality.
    wanted = "causality" if "q" in form.axes else "padding"
    for name, made in found:
        if made is not None and made[0] == (wanted if wanted in kinds else next(iter(kinds))):
            yield Stated(made[1], f"{name} makes masks in which")


def _made_by(function: Any, library: str) -> tuple[str, str] | None:
    """Return whether a function makes masks of causality or of padding, and what is 1 there."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    for tensor in _kinds_of_tensors(library):
        given: dict[str, Any] = {}
        for each in parameters:
            name = each.name.lower()
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or (
                each.default is not each.empty and not _OF_IDS.match(name)
            ):
                continue
            if _OF_IDS.match(name):
                given[each.name] = tensor(_IDS)
            elif name in ("device", "dev"):
                given[each.name] = "cpu"
            else:
                given[each.name] = 0 if _PAD.search(name) else _BATCH if _BATCHES.match(name) else _TOKENS
        try:
            made = np.asarray(function(**given))
        except KeyboardInterrupt:
            raise
        except BaseException:
            continue
        found = _shown_by(made)
        if found is not None:
            return found
    return None


def _kinds_of_tensors(library: str) -> list[Any]:
    kinds: list[Any] = [np.asarray]
    for name in {"torch": ("torch",), "flax": ("jax",), "keras": ()}.get(library, ()):
        kinds.insert(0, tensors_called(name, None, said_by="the layer").given)
    return kinds


def _shown_by(mask: NDArray[Any]) -> tuple[str, str] | None:
    """Return what a mask of tokens is about, of which the last two are padding if any is, and what is 1 there."""
    if mask.ndim < 1 or mask.shape[-1] != _TOKENS or mask.dtype.kind not in "biuf":
        return None
    past = np.tril(np.ones((_TOKENS, _TOKENS), np.bool_))
    seen = np.broadcast_to(_IDS[0] != 0, past.shape)
    numbers = mask.astype(np.float64)
    is_square = mask.ndim > 1 and mask.shape[-2] == _TOKENS
    first = numbers.reshape(-1, _TOKENS if is_square else 1, _TOKENS)[0]
    rows = np.broadcast_to(first, past.shape)
    for kind, pattern in (("causality", past), ("causality", past & seen), ("padding", seen)):
        if np.array_equal(rows, pattern):
            return kind, "attend"
        if np.array_equal(rows, ~pattern):
            return kind, "hide"
        if not rows[pattern].any() and (rows[~pattern] < _LARGE).all():
            return kind, "add"
    return None


_EXAMPLES = re.compile(r"^(?:test|demo|main|example|check|run|try|sanity)", re.IGNORECASE)


def _of_examples(form: MaskForm, source: Source) -> Iterator[Stated]:
    """Give what masks mean that a file makes where it tries the layer out."""
    known: dict[str, str] = {}
    for statement in _statements(source.tree):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, meaning = statement.targets[0], _meaning_of(statement.value, known)
            if isinstance(target, ast.Name) and meaning is not None:
                known[target.id] = meaning
                if "mask" in target.id.lower():
                    yield Stated(meaning, "it is tried with masks in which")
        for node in ast.walk(statement):
            if isinstance(node, ast.keyword) and node.arg == form.name:
                meaning = _meaning_of(node.value, known)
                if meaning is not None:
                    yield Stated(meaning, "it is tried with masks in which")


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    def inside(nodes: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for node in nodes:
            if isinstance(node, ast.Assign | ast.Expr | ast.Return):
                yield node
            elif isinstance(node, ast.If | ast.With | ast.For) or (
                isinstance(node, ast.FunctionDef) and _EXAMPLES.match(node.name)
            ):
                yield from inside(node.body)

    yield from inside(tree.body)


def _meaning_of(node: ast.AST, known: dict[str, str]) -> str | None:
    """Return what 1 means in the mask that an expression makes of a triangle of the past or of the future."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        return _OTHER.get(_meaning_of(node.operand, known) or "")
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _meaning_of_comparison(node, known)
    if isinstance(node, ast.BinOp):
        left, right = _meaning_of(node.left, known), _meaning_of(node.right, known)
        if isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant):
            return _OTHER.get(right or "")
        if isinstance(node.op, ast.Mult) and (left or right):
            return "add"
        return left or right
    if isinstance(node, ast.Subscript):
        return _meaning_of(node.value, known)
    return _meaning_of_call(node, known) if isinstance(node, ast.Call) else None


def _meaning_of_comparison(node: ast.Compare, known: dict[str, str]) -> str | None:
    operator, right = node.ops[0], node.comparators[0]
    meaning = _meaning_of(node.left, known)
    if meaning is not None and isinstance(right, ast.Constant):
        return _OTHER.get(meaning) if isinstance(operator, ast.Eq) and not right.value else meaning
    words = ast.unparse(node.left), ast.unparse(right)
    if "arange" in words[0] and "arange" not in words[1]:
        # Positions beside lengths.
        if isinstance(operator, ast.Lt | ast.LtE):
            return "attend"
        return "hide" if isinstance(operator, ast.Gt | ast.GtE) else None
    return None


def _meaning_of_call(node: ast.Call, known: dict[str, str]) -> str | None:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    words = ast.unparse(node)
    if name in ("tril", "triu"):
        if "inf" in words:
            return "add"
        offset = [ast.unparse(each) for each in (*node.args[1:], *(keyword.value for keyword in node.keywords))]
        if name == "tril":
            return "attend" if not offset or offset == ["0"] else None
        return "hide" if offset == ["1"] else None
    if name in ("masked_fill", "where") and "inf" in words:
        return "add" if re.search("tri[lu]|mask", words) else None
    if name == "logical_not":
        return _OTHER.get(_meaning_of(node.args[0], known) or "") if node.args else None
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    candidates = [each for each in (inner, *node.args) if each is not None]
    return next((meaning for meaning in (_meaning_of(each, known) for each in candidates) if meaning), None)
