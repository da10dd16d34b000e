"""The contract in the form that the harness reads: every operation and every convention, by name.

The families say what there is, each in a file of its name beside this one (``attention.json``), and all together in
``shared_conventions.json`` what is about arithmetic and callers; the prose is in ``spec/operations/``.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnspec.contract.convention import Convention, Settles
from attnspec.contract.operation import REQUIRED, Examples, Input, Operation, Output

_SHARED = "shared_conventions"

FAMILIES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.json") if path.stem != _SHARED))
"""Every family, by name in alphabetical order: each has its file beside this one."""


def _read_json(name: str) -> dict[str, Any]:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


_CONTRACTS = {family: _read_json(family) for family in FAMILIES}


def _table_of_all_families(table: str) -> dict[str, Any]:
    """Return a table of which each family has a part, or none."""
    return {name: entry for contract in _CONTRACTS.values() for name, entry in contract.get(table, {}).items()}


def _convention_from_json(name: str, document: dict[str, Any]) -> Convention:
    settles = Settles[document.get("settles", Settles.RESULTS.name)]
    lists = {name: tuple(document.get(name, ())) for name in ("choices", "changes")}
    fields: dict[str, Any] = document | lists | {"settles": settles}
    return Convention(name, **fields)


def _tensor(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"axes": tuple(document.get("axes", ()))}


def _operation_from_json(family: str, document: dict[str, Any]) -> Operation:
    required = dict.fromkeys(document.get("required_attributes", ()), REQUIRED)
    return Operation(
        document["name"],
        document.get("short_name", document["name"]),
        family,
        sentence=document["sentence"],
        takes=tuple(Input(**_tensor(tensor)) for tensor in document.get("takes", ())),
        attributes=required | document.get("attributes", {}),
        gives=tuple(Output(**_tensor(tensor)) for tensor in document["gives"]),
        steps=tuple(document.get("steps", ())),
        conventions=tuple(document["conventions"]),
        may_fuse=document.get("may_fuse", False),
        backward_of=document.get("backward_of"),
    )


def _operation_in_layout(document: dict[str, Any]) -> Operation:
    """Return an operation as it is in a layout: tensors that it has there, too, are given by their names alone."""
    usual = OPERATIONS[document["name"]]
    tensors = {tensor.name: tensor for tensor in usual.takes}
    takes = tuple(tensors[each] if isinstance(each, str) else Input(**_tensor(each)) for each in document["takes"])
    gives = tuple(usual.outputs_by_name[name] for name in document["gives"])
    return replace(usual, takes=takes, gives=gives, steps=tuple(document["steps"]))


OPERATIONS: Mapping[str, Operation] = {
    document["name"]: _operation_from_json(family, document)
    for family, contract in _CONTRACTS.items()
    for document in contract["operations"]
}
"""Every operation, by name, in the order of the spec."""

CONVENTIONS: Mapping[str, Convention] = {
    name: _convention_from_json(name, document)
    for name, document in sorted((_read_json(_SHARED) | _table_of_all_families("conventions")).items())
}
"""Every convention, by name; families may share one."""

LAYOUTS_IN_WORDS: Mapping[str, str] = _table_of_all_families("layouts")
"""Every layout by name with how tensors lie in it, the contract's own first."""

LAYOUTS: tuple[str, ...] = tuple(LAYOUTS_IN_WORDS)
"""Every layout by name, the contract's own first."""

IN_LAYOUT: Mapping[str, Mapping[str, Operation]] = {
    layout: {document["name"]: _operation_in_layout(document) for document in documents}
    for layout, documents in _table_of_all_families("in_layout").items()
}
"""Layout to the operations, by name, that have other arguments or outputs in it, as they are there."""

LAYOUT_SETTINGS: Mapping[str, Mapping[str, bool]] = _table_of_all_families("layout_settings")
"""Layout to its settings, each with whether it takes a number; else it is a word alone."""

CLAUSES_OF_LAYOUTS: Mapping[str, tuple[str, ...]] = {
    beginning: tuple(layouts) for beginning, layouts in _table_of_all_families("clauses_of_layouts").items()
}
"""Beginning of the ids of clauses that apply in some layouts alone, to these layouts."""

CLAUSES_INSTEAD: Mapping[str, Mapping[str, str]] = _table_of_all_families("clauses_instead")
"""Layout to clauses about arguments that it has not, or in another form, each with the one that says the same there."""

CAPABILITIES: Mapping[str, str] = _table_of_all_families("capabilities")
"""Capability that an implementation may lack, to a sentence about it; families may share one."""

WORDS_OF_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    attribute: tuple(words) for attribute, words in _table_of_all_families("words_of_attributes").items()
}
"""Attribute whose value is a word to the words that it may be."""

READ_OTHERWISE: Mapping[str, tuple[str, ...]] = {
    capability: tuple(mistakes) for capability, mistakes in _table_of_all_families("read_otherwise").items()
}
"""Capability to the mistakes, by name without the operation, that implementations make in which it is merely absent."""

CALLED_IN_PARTS: Mapping[str, list[str]] = _table_of_all_families("called_in_parts")
"""Case to the kinds of the parts in which it is called, too, to see whether results have the same bits in all batches.

Most have entries of unlike lengths, shared key heads, a mask for each entry, or one query of many keys. Queries
whose position matters stand by the end of the keys: the last one stands there alone, too.
"""

CALLED_IN_STEPS: Mapping[str, list[str]] = _table_of_all_families("called_in_steps")
"""Case to the ways in which it is called in steps, too, of a decoder that keeps what it was given."""

PROFILES: Mapping[str, str] = _table_of_all_families("profiles")
"""Every profile by name with what its cases are about, in the order of the spec."""

ON_REQUEST: tuple[str, ...] = tuple(
    profile for contract in _CONTRACTS.values() for profile in contract.get("on_request", ())
)
"""The profiles whose cases are run only where they are named, because they take minutes."""

EXAMPLES = Examples(**_CONTRACTS[FAMILIES[0]]["examples"])
"""Examples in help and messages: of the first family, which everybody knows."""

TITLES: Mapping[str, str] = {family: contract["title"] for family, contract in _CONTRACTS.items()}
"""Family to its name in a sentence."""
