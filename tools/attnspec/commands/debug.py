"""``attnspec debug CASE TARGET``: one case, called in this process, under the debugger of its user."""

from __future__ import annotations

import bdb
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.target_options import target_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case
    from attnspec.grading import Run, Verdict
    from attnspec.targets import Answer, Declaration
    from attnspec.targets.target import Target


@click.command()
@click.argument("case")
@click.argument("target")
@click.option("--dtype", metavar="DTYPE", help="Call it in this dtype; the first that TARGET declares if not said.")
@click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable.")
@target_options(but=("strict_table",))
@click.option("--elements", type=click.IntRange(min=1), default=10, metavar="N", help="Show N; 10 if not said.")
@click.option("--pdb", "post_mortem", is_flag=True, help="After an exception, enter pdb in the frame of yours.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def debug(
    case: str,
    target: Target,
    *,
    dtype: str | None,
    conventions: tuple[str, ...],
    elements: int,
    post_mortem: bool,
    golden: Path | None,
) -> int:
    """Call TARGET once, for one CASE, in this process: breakpoints hold, and what it prints is seen.

    Nothing guards the call. Ends with 0 when the answer is right, with 1 when it is wrong or not offered.
    """
    from attnspec.command_line.call_told import Reported
    from attnspec.commands.explain import find_case
    from attnspec.grading import NotGraded
    from attnspec.process.opening import open_target
    from attnspec.runner import planned_runs, resolved_for
    from attnspec.targets.target import pairs
    from attnspec.validation import check_request

    asked = pairs(conventions, "--convention")
    check_request(() if dtype is None else (dtype,), asked)
    found = find_case(case, golden)
    with closing(open_target(target, nearest=(partial(Reported, case=found),))) as implementation:
        declaration = implementation.declaration
        dtypes = (_dtype(found, dtype, declaration),)
        (run,) = planned_runs(found, dtypes, declaration, resolved_for(declaration, asked))
        if isinstance(run.expected, NotGraded):
            _say(f"{found.id} ({run.dtype}) is not graded: {run.expected.reason}.")
            return 1
        call = _Call(run, post_mortem=post_mortem)
        return call.tell(call.ask(implementation), elements)


def _dtype(case: Case, asked: str | None, declaration: Declaration) -> str:
    """Return the requested dtype, or the first declared one that the case is offered in."""
    from attnspec.contract.dtypes import ANY

    if not case.dtypes:
        return ANY
    if asked is None:
        return next(
            (dtype for dtype in declaration.dtypes_offered(case.operation) if dtype in case.dtypes), case.dtypes[0]
        )
    if asked not in case.dtypes:
        raise UsageError(f"--dtype {asked}: {case.id} is not offered in it; it is in {', '.join(case.dtypes)}.")
    return asked


class _Call:
    """One call with its outcome."""

    def __init__(self, run: Run, *, post_mortem: bool) -> None:
        self._run = run
        self._post_mortem = post_mortem

    def ask(self, implementation: Any) -> Answer:
        """Print the case, and call the implementation."""
        from attnspec.runner import request_of

        _say(f"{self._run.case.id} ({self._run.dtype}): {self._run.case.title}")
        return implementation.run(request_of(self._run))

    def tell(self, answer: Answer, elements: int) -> int:
        """Print the outcome, and return the exit status."""
        from attnspec.contract.implementation import Outputs, Raised
        from attnspec.grading import RIGHT, grade
        from attnspec.reports.shown_elements import elements_text

        raised = answer.error if isinstance(answer, Raised) else None
        if isinstance(raised, bdb.BdbQuit):
            raise KeyboardInterrupt
        verdict = grade(self._run, answer)
        is_right = verdict.status in RIGHT
        if raised is not None and verdict.status == "error":
            self._show_traceback(raised)
        _say("")
        _say(_sentence(verdict))
        if isinstance(answer, Outputs):
            numbers = elements_text(self._run, answer.values, most=elements)
            if numbers:
                click.echo(f"\n{numbers}")
        for line in self._further(answer, verdict):
            _say(line)
        return 0 if is_right else 1

    def _show_traceback(self, error: BaseException) -> None:
        from traceback import format_exception

        from attnspec.targets.calling import beyond_attnspec, to_the_users_frame

        beyond = beyond_attnspec(error)
        click.echo(f"\n{''.join(format_exception(type(error), error, beyond))}", nl=False)
        if self._post_mortem and beyond is not None:
            import pdb

            pdb.post_mortem(to_the_users_frame(beyond))

    def _further(self, answer: Answer, verdict: Verdict) -> Sequence[str]:
        """Return the facts beyond the numbers: the step, the mistake, and limits of a single call."""
        from attnspec.grading import RIGHT
        from attnspec.reports import wording
        from attnspec.runner import Result
        from attnspec.targets import Outputs

        if verdict.status in RIGHT:
            changed = self._run.case.changed_argument
            more = "" if changed is None else f", and once more with {changed.name} alone changed"
            return ("", f"That was one call. `attnspec validate` calls it again after other cases{more}.")
        lines = [*filter(None, [wording.diverging_step(verdict.first_step, verdict.agreeing_steps)])]
        if verdict.status == "fail" and isinstance(answer, Outputs):
            from attnspec.diagnosis import diagnose
            from attnspec.reports.entries import diagnosis_lines, points_at
            from attnspec.reports.report_json import diagnosis_to_json

            result = Result(self._run, verdict, 0.0, answer.values)
            reported = [diagnosis_to_json(entry) for entry in diagnose((result,))]
            lines += [line for entry in reported if points_at(entry) for line in diagnosis_lines(entry)]
        return ["", *lines, f"`attnspec explain {self._run.case.id}` says which rules the case is about."]


def _sentence(verdict: Verdict) -> str:
    from attnspec.grading import RIGHT
    from attnspec.reports import wording

    if verdict.status in RIGHT:
        said = verdict.message or f"all {verdict.graded:,} elements that are graded lie within their tolerance"
    else:
        said = wording.ending(verdict.message, verdict.under)
    word = "not offered" if verdict.status == "unsupported" else verdict.status
    return f"{word}: {said[:-1] if said.endswith('.') else said}."


def _say(line: str) -> None:
    from attnspec.base.plain_text import plain_text

    click.echo(plain_text(line))
