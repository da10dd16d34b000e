"""Judging: candidates are started one after the other, called, and reported on."""

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from attnspec.base.errors import ProtocolError, TargetError, UsageError
from attnspec.base.plain_text import plain_text
from attnspec.cases import suite_of
from attnspec.contract.declarations import conventions_for_operation
from attnspec.targets.target import CandidateOptions, Target, spelled_out, target_of
from attnspec.validation import make_report
from attnspec_draws.judge.calling import Calling, Follower
from attnspec_draws.judge.candidate import (
    Conditions,
    as_judged,
    check_conditions,
    check_is_there,
    opened,
)
from attnspec_draws.judge.own_folder import read_all
from attnspec_draws.judge.own_inputs import OwnCheckFound, tried
from attnspec_draws.judge.own_modules import load_own_modules
from attnspec_draws.judge.questions import questions
from attnspec_draws.judge.shapes import Shape, read_shapes, shapes_from
from attnspec_draws.judge.tally import sampled
from attnspec_draws.judge.verdict import JudgeReport, judge_report_of, not_loaded

DRAWS = 64
"""Draws at a shape: sets that distinguish all trivial answers take about 23 of them, and never took more than 51."""


_READABLE = 0o755
"""Mode of a folder that everybody can read: a sandbox may change the user."""


@spelled_out(CandidateOptions)
def judge(
    target: str | None = None,
    shapes: Path | str | Mapping[str, Any] | None = None,
    *,
    command: str | None = None,
    conventions: Mapping[str, str] | None = None,
    conditions: Conditions | None = None,
    draws: int = DRAWS,
    seed: str | None = None,
    **options: Unpack[CandidateOptions],
) -> JudgeReport:
    """Judge an implementation at its user's shapes, by draws that nobody has seen.

    Parameters
    ----------
    target
        A Python target, as `attnspec.validate` takes it. It runs in a process of its own.
    shapes
        The shapes to judge at: a file, or its content.
    command
        A program that speaks the process protocol, instead of a target.
    operation, device, tensors, layout, renames
        As `attnspec.validate` takes them.
    conventions
        Conventions that its answers are graded by. Its own declarations count for nothing, or it would choose what is
        right; those of adapters that come with attnspec count.
    conditions
        Limits on time and memory, a sandbox, and what is forbidden.
    draws
        How many draws at each shape; fewer where they are large.
    seed
        The seed of an earlier report, to see the same draws again. A candidate that knows the seed can know the
        answers, so that this judges nothing.

    Raises
    ------
    AttnspecError
        If nothing can be judged so: the message is a sentence that says what to do. A candidate that cannot be loaded
        is judged to be that.
    """
    if target is not None and not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"{target!r} runs in this process, and a candidate is judged in one of its own: write where it is, such "
            "as './kernel.py:attention'."
        )
    if shapes is None:
        raise UsageError("Say at which shapes to judge: a file of shapes, or what one holds.")
    at = read_shapes(Path(shapes)) if isinstance(shapes, Path | str) else shapes_from(shapes, said_by="shapes")
    candidate = replace(target_of(target, options), command=command)
    (found,) = judged((candidate,), at, conditions or Conditions(), conventions or {}, draws=draws, seed=seed)
    return found


def judged(
    candidates: Sequence[Target],
    shapes: Sequence[Shape],
    conditions: Conditions,
    conventions: Mapping[str, str],
    *,
    draws: int = DRAWS,
    seed: str | None = None,
    follow: Follower | None = None,
) -> tuple[JudgeReport, ...]:
    """Judge candidates by the same draws, one after the other, so that none can do anything to another.

    `follow` receives the progress; `AttnspecError` where the sandbox is missing.
    """
    check_conditions(conditions)
    for candidate in candidates:
        check_is_there(candidate)
    own_checks = tuple(tried(shape.own_check, shape) for shape in shapes if shape.own_check is not None)
    load_own_modules([candidate.name for candidate in candidates if candidate.python is not None])
    # Nobody can look up what stands nowhere: this process alone knows the word until all is judged.
    word = seed or secrets.token_hex(8)
    found: list[JudgeReport] = []
    for candidate, own in zip(candidates, read_all(candidates), strict=True):
        follow_one = _named(follow, candidate, found, len(candidates))
        with ExitStack() as stack:
            folder = stack.enter_context(_folder())
            try:
                implementation = stack.enter_context(closing(opened(candidate, conditions, shapes, own, folder)))
            except (ProtocolError, TargetError) as error:
                why = str(error) if own is None else own.as_named(str(error), folder)
                if any(f"--forbid {name}:" in why for name in conditions.forbidden):
                    # What its user wrote is no fault of a candidate.
                    raise type(error)(why) from None
                found.append(not_loaded(candidate.name, why, seed=word, is_replay=bool(seed), conditions=conditions))
                continue
            declared = conventions_for_operation(implementation.declaration.conventions, shapes[0].operation)
            calls = Calling(as_judged(candidate, implementation, shapes), conventions, conditions, word, follow_one)
            for shape in shapes:
                for dtype in shape.dtypes:
                    calls.put(tuple(questions(shape, dtype, word, draws)))
            calls.measure()
        found.append(_judged(candidate, shapes, calls, declared, own_checks, is_replay=seed is not None))
    return tuple(found)


@contextmanager
def _folder() -> Generator[Path]:
    """Make an empty folder that its candidate can read, though it may run as somebody else."""
    with TemporaryDirectory(prefix="", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(_READABLE)
        yield folder


def _named(follow: Follower | None, candidate: Target, found: Sequence[JudgeReport], many: int) -> Follower:
    """Put the name of a candidate before what is reported of it."""
    which = f" ({len(found) + 1} of {many})" if many > 1 else ""

    def reported(words: str) -> None:
        if follow is not None:
            follow(f"{plain_text(candidate.name)}{which}: {words}")

    reported("getting ready")
    return reported


def _judged(
    candidate: Target,
    shapes: Sequence[Shape],
    calls: Calling,
    declared: Mapping[str, str],
    own_checks: tuple[OwnCheckFound, ...],
    *,
    is_replay: bool,
) -> JudgeReport:
    report = make_report(
        suite_of(result.case for result in calls.results),
        calls.declaration,
        tuple(calls.results),
        conventions=calls.conventions,
        measured=calls.measured,
    )
    followed = conventions_for_operation({**calls.declaration.conventions, **calls.conventions}, shapes[0].operation)
    return judge_report_of(
        candidate.name,
        report,
        at=calls.tally("at"),
        beside=calls.tally("beside"),
        seed=calls.seed,
        is_replay=is_replay,
        conditions=calls.conditions,
        conventions=followed,
        own_conventions={name: choice for name, choice in declared.items() if followed.get(name) != choice},
        certificates=calls.certificates,
        sampled=sampled([result.case for result in calls.results]),
        own_checks=own_checks,
        recognised=calls.recognised,
        stopped=calls.stopped,
    )
