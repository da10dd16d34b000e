"""``attnspec debug CASE TARGET``: one case, called in this process, under the debugger of its user."""

from __future__ import annotations

import bdb
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.base.plain_text import plain_text
from attnspec.command_line.command_options import with_options_of
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, own_dtype
from attnspec.contract.implementation import Outputs, Raised, Wrapped

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec.grading import Run, Verdict
    from attnspec.targets import Answer, Implementation, Request
    from attnspec.targets.target import Target


@click.command()
@with_options_of("debug")
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
    from attnspec.commands.explain import find_case
    from attnspec.grading import NotGraded, grade
    from attnspec.process.opening import open_target
    from attnspec.runner import Resolved, planned_runs, request_of
    from attnspec.targets.target import pairs
    from attnspec.validation import check_dtypes_and_conventions

    stated = pairs(conventions, "--convention")
    check_dtypes_and_conventions(() if dtype is None else (dtype,), stated)
    found = find_case(case, golden)
    if found.dtypes and dtype is not None and dtype not in found.dtypes:
        raise UsageError(f"--dtype {dtype}: {found.id} is not offered in it; it is in {', '.join(found.dtypes)}.")
    with closing(
        open_target(
            target, dtypes=() if dtype is None else (dtype,), nearest=(partial(PrintingImplementation, case=found),)
        )
    ) as implementation:
        declaration = implementation.declaration
        # The first declared dtype that the case is offered in, where none is named.
        offered = (each for each in declaration.dtypes_offered(found.operation) if each in found.dtypes)
        called_in = (dtype or next(offered, found.dtypes[0])) if found.dtypes else ANY
        (run,) = planned_runs(found, (called_in,), declaration, Resolved({**declaration.conventions, **stated}))
        if isinstance(run.expected, NotGraded):
            _say(f"{found.id} ({run.dtype}) is not graded: {run.expected.reason}.")
            return 1
        _say(f"{found.id} ({run.dtype}): {found.title}")
        answer = implementation.run(request_of(run))
        if isinstance(answer, Raised) and isinstance(answer.error, bdb.BdbQuit):
            raise KeyboardInterrupt
        verdict = grade(run, answer)
        if isinstance(answer, Raised) and answer.error is not None and verdict.status == "error":
            _show_traceback(answer.error, post_mortem=post_mortem)
        return _say_outcome(run, answer, verdict, elements)


def _show_traceback(error: BaseException, *, post_mortem: bool) -> None:
    from traceback import format_exception

    from attnspec.targets.calling import beyond_attnspec, to_the_users_frame

    beyond = beyond_attnspec(error)
    click.echo(f"\n{''.join(format_exception(type(error), error, beyond))}", nl=False)
    if post_mortem and beyond is not None:
        import pdb

        pdb.post_mortem(to_the_users_frame(beyond))


def _say_outcome(run: Run, answer: Answer, verdict: Verdict, elements: int) -> int:
    """Print the verdict, the numbers, the likely mistake and the limits of a single call; return the exit status."""
    from attnspec.grading import RIGHT
    from attnspec.reports import wording
    from attnspec.reports.shown_elements import elements_text

    is_right = verdict.status in RIGHT
    if is_right:
        said = verdict.message or f"all {verdict.graded:,} elements that are graded lie within their tolerance"
    else:
        said = wording.ending_sentence(verdict.message, verdict.under)
    word = "not offered" if verdict.status == "unsupported" else verdict.status
    _say("")
    _say(f"{word}: {said[:-1] if said.endswith('.') else said}.")
    if isinstance(answer, Outputs):
        numbers = elements_text(run, answer.values, most=elements)
        if numbers:
            click.echo(f"\n{numbers}")
    _say("")
    if is_right:
        changed = run.case.changed_argument
        more = "" if changed is None else f", and once more with {changed.name} alone changed"
        _say(f"That was one call. `attnspec validate` calls it again after other cases{more}.")
        return 0
    step = wording.diverging_step(verdict.first_step, verdict.agreeing_steps)
    if step:
        _say(step)
    if verdict.status == "fail" and isinstance(answer, Outputs):
        from attnspec.diagnosis import diagnose
        from attnspec.reports.entries import diagnosis_lines, word_to_explain
        from attnspec.reports.report import diagnosis_to_json
        from attnspec.runner import Result

        reported = [diagnosis_to_json(entry) for entry in diagnose((Result(run, verdict, 0.0, answer.values),))]
        for line in (line for entry in reported if word_to_explain(entry) for line in diagnosis_lines(entry)):
            _say(line)
    _say(f"`attnspec explain {run.case.id}` says which rules the case is about.")
    return 1


def _say(line: str) -> None:
    click.echo(plain_text(line))


class PrintingImplementation(Wrapped):
    """Implementation that prints its arguments for a case: in its own layout, where it has one."""

    def __init__(self, implementation: Implementation, target: Target, case: Case) -> None:
        super().__init__(implementation)
        self._case = case
        self._layout = target.layout
        self._calls = 0

    def run(self, request: Request) -> Answer:
        """Print the arguments the first time, and call it."""
        self._calls += 1
        if self._calls == 1:
            order = [*OPERATIONS[request.operation].arguments, *request.inputs]
            given = [name for name in dict.fromkeys(order) if name in request.inputs]
            own = {name: own_dtype(array) for name, array in self._case.inputs.items()}
            inputs = [
                f"{name} {list(request.inputs[name].shape)}{f' in {own[name]}' if own.get(name) else ''}"
                for name in given
            ]
            attributes = [f"{name}={value!r}" for name, value in request.attributes.items()]
            layout = self.declaration.layout if self._layout is None else self._layout
            there = "" if layout is None else f", in the layout {layout}"
            _say(f"{request.operation} is called with {', '.join([*inputs, *attributes]) or 'nothing'}{there}.")
        elif self._calls == 2:
            click.echo("It is called again for the next entry, for its layout has no axis for several.")
        return self._implementation.run(request)
