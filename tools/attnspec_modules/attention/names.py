"""Names of constructor arguments, arguments of a call and parameters, and what each stands for."""

import re
import tomllib
from pathlib import Path

_TABLES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def plain(name: str) -> str:
    """Return a name without case and underscores."""
    return name.lower().replace("_", "")


_MEANINGS = {
    table: {plain(name): meaning for meaning, names in reversed(meanings.items()) for name in names}
    for table, meanings in _TABLES.items()
}


def meaning_of(table: str, name: str) -> str | None:
    """Return what a name of the constructor or of a call stands for, or None."""
    return _MEANINGS[table].get(plain(name))


_LIKELY = {
    "none": r"drop",
    "true": r"bias",
    "kv_heads": r"kv.*(?:head|group)|(?:head|group).*kv",
    "head_width": r"head.*(?:dim|size|width|feat)|(?:dim|size|width|feat).*head",
    "heads": r"head",
    "length": r"(?:ctx|context|seq|block|max|pos).*(?:len|size|pos|ctx)|maxlen",
    "width": r"width|model|embed|hidden|channel|feat|dim",
}
"""Parts of a name, without underscores, and what it is likely to mean where the tables do not have it."""


def likely_meaning_of(name: str, default: object) -> str | None:
    """Return what an entry of a configuration is likely to stand for, by its default: a number, a rate or a switch."""
    kinds = {"none": float, "true": bool}
    for meaning, words in _LIKELY.items():
        if re.search(words, plain(name)):
            return meaning if type(default) is kinds.get(meaning, int) else None
    return None


def meaning_of_parameter(path: str) -> str | None:
    """Return what a parameter's path stands for: ``query``, ``fused``, ``norm`` and so on; None if it says nothing.

    The last part that says something counts.
    """
    meanings = _MEANINGS["parameters"]
    for part in reversed(path.split(".")):
        words = [word.lower() for word in re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*", part.replace("_", " "))]
        whole = "".join(words)
        found = {meanings[word] for word in words if word in meanings and (word != "linear" or whole == word)}
        of_inputs = found & {"query", "key", "value"}
        if "norm" in found:
            return "norm"
        if of_inputs == {"query", "key", "value"} or {"in", "proj"} <= {*words} or meanings.get(whole) == "fused":
            return "fused"
        if of_inputs == {"key", "value"} or "pair" in found or meanings.get(whole) == "pair":
            return "pair"
        for meaning in (*sorted(of_inputs), meanings.get(whole), *sorted(found)):
            if meaning is not None:
                return meaning
    return None
