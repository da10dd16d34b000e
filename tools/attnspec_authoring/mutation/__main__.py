"""Try every mutant of the reference, and say which ones no case notices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from attnspec_authoring.mutation.mutants import LISTED, all_mutants, is_unproven, modules, read_equivalents
from attnspec_authoring.mutation.trials import try_mutants
from attnspec_authoring.rotation import selection

TRIED_LISTED = 48
"""Listed mutants that one run tries, others with every change: each meets every case in every dtype, which takes as
long as a hundred that a case notices."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every mutant, of the listed ones a selection unless all are wanted; 0 if none survives but those."""
    parser = argparse.ArgumentParser(prog="python -m attnspec_authoring.mutation", description=__doc__)
    parser.add_argument("--all", action="store_true", help=f"of those in {LISTED.name} all, not {TRIED_LISTED}")
    options = parser.parse_args(arguments)
    every, equivalents = all_mutants(), read_equivalents()
    tried = equivalents if options.all else selection(equivalents, TRIED_LISTED)
    mutants = [mutant for mutant in every if mutant.id in tried or mutant.id not in equivalents]
    outcomes = list(try_mutants(mutants))
    survivors = {outcome.id for outcome in outcomes if outcome.killed_by is None}
    known = {mutant.id for mutant in every}
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
        f"{len(mutants)} mutants of {len(every)}: {len(mutants) - len(survivors)} killed, {len(survivors)} survive, "
        f"{len(equivalents)} are listed as equivalent. Not proven yet: {', '.join(filter(is_unproven, modules()))}."
    )
    return 1 if unlisted or gone or killed else 0


if __name__ == "__main__":
    sys.exit(main())
