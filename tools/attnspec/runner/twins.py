"""Refusals beside their valid twins: who refuses everything refuses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.comparison import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec.cases import Case, Suite
    from attnspec.comparison import Status
    from attnspec.runner.result import Result


def beside_their_twins(
    results: Sequence[Result], suite: Suite, ask: Callable[[Result, Case, str], Status] | None
) -> tuple[Result, ...]:
    """Take back the pass of a refusal whose valid twin does not pass.

    Parameters
    ----------
    results
        The results of a run.
    suite
        Its cases.
    ask
        Gives the status of a twin that has no result: for a refusal, the twin and the dtype; None where the
        implementation cannot be asked any more.
    """
    known: dict[tuple[str, str], Status | None] = {(result.case.id, result.dtype): result.status for result in results}
    checked: list[Result] = []
    for result in results:
        if result.case.rejects is not None and result.status == "pass":
            twin = suite.cases.get(result.case.rejects.twin) or suite.twins[result.case.rejects.twin]
            key = (twin.id, result.dtype if result.dtype in twin.runs else twin.runs[0])
            if key not in known:
                known[key] = None if ask is None else ask(result, twin, key[1])
            if known[key] != "pass":
                how = "was not run" if known[key] is None else "did not pass"
                message = f"the valid twin {twin.id} {how}, so a refusal says nothing"
                result = result._replace(verdict=Verdict("unsupported", message=message))  # noqa: PLW2901
        checked.append(result)
    return tuple(checked)
