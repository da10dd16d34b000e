"""``python -m attnspec_authoring.strangers``: try every stranger's implementation, and say what is not as it was."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec.base.errors import AttnspecError
from attnspec.base.files import replace_file
from attnspec.cases import load_suite
from attnspec_authoring.strangers.archives import STRANGERS
from attnspec_authoring.strangers.index import INDEX, Index, index_text, read_index
from attnspec_authoring.strangers.page import PAGE, strangers_page
from attnspec_authoring.strangers.trials import Trial, try_strangers

if TYPE_CHECKING:
    from collections.abc import Sequence


def renewed(index: Index, trials: Sequence[Trial]) -> Index:
    """Renew the index by trials: cases that fail wrong ones; a surprise changes nothing, as it is to be explained.

    Where trials are of all implementations, the index refers to the present suite.
    """
    found = [
        replace(trial.stranger, noticed_by=trial.noticed_by)
        for trial in trials
        if trial.noticed_by is not None and not trial.stranger.is_right and trial.surprise is None
    ]
    index = index.with_strangers(found)
    if len(trials) < len(index.strangers):
        return index
    suite = load_suite()
    return replace(index, cases=len(suite.cases), suite=suite.digest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try batches; 0 if every wrong one still fails that did, and no right one fails."""
    parser = argparse.ArgumentParser(prog="python -m attnspec_authoring.strangers", description=__doc__)
    parser.add_argument("batches", nargs="*", metavar="BATCH", help="such as batch_7; all where none is named")
    parser.add_argument("--write", action="store_true", help=f"renew {INDEX.name} and {PAGE.name}, but for surprises")
    parser.add_argument("--processes", type=int, metavar="N", help="one a core by default")
    options = parser.parse_args(arguments)
    try:
        index = read_index()
        known = {batch.name for batch in index.batches}
        for batch in options.batches:
            if batch not in known:
                parser.error(f"there is no batch {batch!r} in {STRANGERS}")
        chosen = [stranger for stranger in index.strangers if not options.batches or stranger.batch in options.batches]
        trials = list(try_strangers(chosen, options.processes))
        if options.write:
            index = renewed(index, trials)
            replace_file(INDEX, index_text(index))
            replace_file(PAGE, strangers_page(index))
    except AttnspecError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    surprises = [trial.surprise for trial in trials if trial.surprise is not None]
    wrong = [trial for trial in trials if not trial.stranger.is_right]
    killed = sum(trial.noticed_by is not None for trial in wrong)
    right = [trial for trial in trials if trial.stranger.is_right]
    failed = sum(trial.noticed_by is not None for trial in right)
    print(  # noqa: T201
        *surprises,
        f"{killed} of {len(wrong)} wrong implementations are killed, {failed} of {len(right)} right ones fail; "
        f"{len(surprises)} not as {INDEX.name} has it.",
        sep="\n",
    )
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
