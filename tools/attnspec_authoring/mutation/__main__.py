"""``python -m attnspec_authoring.mutation``: try every mutant of the reference, and say which ones no case notices."""

from __future__ import annotations

import sys

from attnspec_authoring.mutation.mutants import LISTED, all_mutants, is_unproven, modules, read_equivalents
from attnspec_authoring.mutation.trials import try_mutants


def main() -> int:
    """Try every mutant; 0 if exactly the listed ones survive."""
    mutants, equivalents = all_mutants(), read_equivalents()
    outcomes = list(try_mutants(mutants))
    survivors = {outcome.id for outcome in outcomes if outcome.killed_by is None}
    known = {mutant.id for mutant in mutants}
    unlisted = [mutant.id for mutant in mutants if mutant.id in survivors - equivalents.keys()]
    gone = [mutant for mutant in equivalents if mutant not in known]
    killed = [
        f"{outcome.id}, by {outcome.killed_by}" for outcome in outcomes if outcome.id in equivalents.keys() - survivors
    ]
    for heading, entries in (
        ("No golden case notices these. Add one, or list them with the reason why none can:", unlisted),
        (f"These are in {LISTED.name}, but a case fails them. Take them out:", killed),
        (f"These are in {LISTED.name}, but the reference has no such code. Take them out:", gone),
    ):
        if entries:
            print(heading, *(f"  {entry}" for entry in entries), sep="\n")  # noqa: T201
    print(  # noqa: T201
        f"{len(mutants)} mutants: {len(mutants) - len(survivors)} killed, {len(survivors)} survive, "
        f"{len(equivalents)} are listed as equivalent. Not proven yet: {', '.join(filter(is_unproven, modules()))}."
    )
    return 1 if unlisted or gone or killed else 0


if __name__ == "__main__":
    sys.exit(main())
