"""The contract in the form that the harness reads: every operation and every convention, by name.

The families say what there is; the prose is in ``spec/operations/``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.contract.convention import Convention
    from attnspec.contract.operation import Examples, Operation

FAMILIES = ("attention", "rotary")
"""Every family, in the order of the spec."""

_CONTRACTS = tuple(import_module(f"attnspec.contract.{family}") for family in FAMILIES)

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation for contract in _CONTRACTS for operation in contract.OPERATIONS
}
"""Every operation, by name, in the order of the spec."""

_CONVENTIONS = {convention.name: convention for contract in _CONTRACTS for convention in contract.CONVENTIONS}

CONVENTIONS: Mapping[str, Convention] = dict(sorted(_CONVENTIONS.items()))
"""Every convention, by name; families may share one."""

LAYOUTS_IN_WORDS: Mapping[str, str] = {
    layout: sentence for contract in _CONTRACTS for layout, sentence in getattr(contract, "LAYOUTS", {}).items()
}
"""Every layout by name with how tensors lie in it, the contract's own first."""

LAYOUTS: tuple[str, ...] = tuple(LAYOUTS_IN_WORDS)
"""Every layout by name, the contract's own first."""

IN_LAYOUT: Mapping[str, Mapping[str, Operation]] = {
    layout: {operation.name: operation for operation in operations}
    for contract in _CONTRACTS
    for layout, operations in getattr(contract, "IN_LAYOUT", {}).items()
}
"""Layout to the operations, by name, that have other arguments or outputs in it, as they are there."""

LAYOUT_SETTINGS: Mapping[str, Mapping[str, bool]] = {
    layout: settings for contract in _CONTRACTS for layout, settings in getattr(contract, "LAYOUT_SETTINGS", {}).items()
}
"""Layout to its settings, each with whether it takes a number; else it is a word alone."""

CLAUSES_OF_LAYOUTS: Mapping[str, tuple[str, ...]] = {
    beginning: layouts
    for contract in _CONTRACTS
    for beginning, layouts in getattr(contract, "CLAUSES_OF_LAYOUTS", {}).items()
}
"""Beginning of the ids of clauses that apply in some layouts alone, to these layouts."""

CLAUSES_IN_PLACE: Mapping[str, Mapping[str, str]] = {
    layout: in_place
    for contract in _CONTRACTS
    for layout, in_place in getattr(contract, "CLAUSES_IN_PLACE", {}).items()
}
"""Layout to clauses about arguments that it has not, or in another form, each with the one that says the same there."""

CAPABILITIES: Mapping[str, str] = {
    word: sentence for contract in _CONTRACTS for word, sentence in getattr(contract, "CAPABILITIES", {}).items()
}
"""Capability that an implementation may lack, to a sentence about it; families may share one."""

PROFILES: Mapping[str, str] = {
    profile: sentence for contract in _CONTRACTS for profile, sentence in contract.PROFILES.items()
}
"""Every profile by name with what its cases are about, in the order of the spec."""

ON_REQUEST: tuple[str, ...] = tuple(
    profile for contract in _CONTRACTS for profile in getattr(contract, "ON_REQUEST", ())
)
"""The profiles whose cases are run only where they are asked for, because they take minutes."""

EXAMPLES: Examples = _CONTRACTS[0].EXAMPLES
"""Examples in help and messages: of the first family, which everybody knows."""

TITLES: Mapping[str, str] = dict(zip(FAMILIES, (contract.TITLE for contract in _CONTRACTS), strict=True))
"""Family to its name in a sentence."""
