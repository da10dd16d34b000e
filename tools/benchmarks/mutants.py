"""How many mutants of each module of the reference the golden cases kill.

``python tools/benchmarks/mutants.py`` tries all of them and prints a table; ``--write`` writes it to
``spec/studies/mutants.md``. Takes two to five minutes of processor time. Whether the survivors are those that are
listed as equivalent is said by ``python -m attnspec_authoring.mutation``.
"""

from __future__ import annotations

import argparse
from collections import Counter

from study import Study, add_write_option, publish, table

from attnspec_authoring.mutation import all_mutants, read_equivalents, try_mutants

ABOUT = """
What the golden cases make of the mutants of [decision 20](../decisions/0020-proof-by-mutation.md): the reference with
one change of its source, validated as any implementation is. A mutant is killed by a case that it fails, or
where it raises on a valid case, hangs or cannot be imported. *Equivalent* are those that are listed, each with the
reason why no case can notice it; the rest that survives asks for a case.

Nearly half of the equivalent ones sit in checks of the inputs: NumPy or a later check refuses the same input, or the
contract says nothing about it. The others convert what has the type already, round what may stay wide, or touch only
rows that are not graded.
"""


def figures() -> list[str]:
    """Try every mutant, and return the page's table."""
    mutants, equivalents = all_mutants(), read_equivalents()
    module_of = {mutant.id: mutant.module for mutant in mutants}
    survivors = {outcome.id for outcome in try_mutants(mutants) if outcome.killed_by is None}
    tried = Counter(module_of.values())
    listed = Counter(module_of[mutant] for mutant in survivors & equivalents.keys())
    unlisted = Counter(module_of[mutant] for mutant in survivors - equivalents.keys())

    def row(name: str, every: int, equivalent: int, rest: int) -> tuple[object, ...]:
        return (name, every, every - equivalent - rest, equivalent, rest)

    rows = [row(f"`{module}`", tried[module], listed[module], unlisted[module]) for module in sorted(tried)]
    total = row("all", tried.total(), listed.total(), unlisted.total())
    return table(("module", "mutants", "killed", "equivalent", "survive otherwise"), [*rows, total])


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_write_option(parser, "mutants")
    options = parser.parse_args()
    publish(Study("Mutants of the reference", ABOUT, figures()), options.write)


if __name__ == "__main__":
    main()
