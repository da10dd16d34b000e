"""The contract in the form that the harness reads: every operation and every convention, by name.

The families say what there is; the prose is in ``spec/operations/``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.convention import Convention
    from attnspec.operation import Examples, Operation

FAMILIES = ("attention", "rotary")
"""Every family, in the order of the spec."""

_CONTRACTS = tuple(import_module(f"attnspec.families.{family}.contract") for family in FAMILIES)

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation for contract in _CONTRACTS for operation in contract.OPERATIONS
}
"""Every operation, by name, in the order of the spec."""

_CONVENTIONS = {convention.name: convention for contract in _CONTRACTS for convention in contract.CONVENTIONS}

CONVENTIONS: Mapping[str, Convention] = dict(sorted(_CONVENTIONS.items()))
"""Every convention, by name; families may share one."""

LAYOUTS: tuple[str, ...] = tuple(
    dict.fromkeys(layout for contract in _CONTRACTS for layout in getattr(contract, "LAYOUTS", ()))
)
"""Every layout by name, the contract's own first."""

CAPABILITIES: Mapping[str, str] = {
    word: sentence for contract in _CONTRACTS for word, sentence in getattr(contract, "CAPABILITIES", {}).items()
}
"""What an implementation may lack, each with a sentence that says what it is; families may share one."""

EXAMPLES: Examples = _CONTRACTS[0].EXAMPLES
"""What help and messages take as examples: the first family is the one that everybody knows."""

TITLES: Mapping[str, str] = dict(zip(FAMILIES, (contract.TITLE for contract in _CONTRACTS), strict=True))
"""What each family is called in a sentence."""
