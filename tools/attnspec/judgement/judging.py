"""Judging: a candidate is started, then the draws are made, and what it answers is graded in this process."""

from __future__ import annotations

import secrets
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.adapters.taken_at_word import CalledInEveryDtype
from attnspec.cases import suite_of
from attnspec.comparison import Values
from attnspec.draws import draw
from attnspec.errors import UsageError
from attnspec.judgement.candidate import Candidate, Conditions, check_size, opened
from attnspec.judgement.certificate import certificate
from attnspec.judgement.own_inputs import tried
from attnspec.judgement.questions import questions, smaller
from attnspec.judgement.recognising import recognised
from attnspec.judgement.sampling import sampled
from attnspec.judgement.shapes import read_shapes, shapes_from
from attnspec.judgement.telling_apart import answering_of, tell_apart
from attnspec.judgement.verdict import Judgement, Tally, judgement_of
from attnspec.lattice import REVERSED
from attnspec.runner import run_suite
from attnspec.validation import closing, make_report, measured_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.adapters import Implementation
    from attnspec.judgement.certificate import Certificate
    from attnspec.judgement.own_inputs import OwnCheckFound
    from attnspec.judgement.questions import Question
    from attnspec.judgement.shapes import Shape
    from attnspec.judgement.telling_apart import DrawTold
    from attnspec.probing import Measured
    from attnspec.runner import Result

DRAWS = 64
"""Draws at a shape: a set that tells all impostors apart takes about 23 of them, and never took more than 51."""

VARIANTS = (0, 1, REVERSED)
"""Each draw is asked with other numbers, too, and with its own in the opposite order: shapes and sums stay the same."""

_GIVEN_UP = 3
"""Crashes or calls over the time in a row after which no more is asked."""

_LOST = ("crash", "timeout")


def judge(
    target: str | None = None,
    shapes: Path | str | Mapping[str, Any] | None = None,
    *,
    command: str | None = None,
    operation: str | None = None,
    device: str | None = None,
    tensors: str | None = None,
    renames: Mapping[str, str] | None = None,
    conventions: Mapping[str, str] | None = None,
    conditions: Conditions | None = None,
    draws: int = DRAWS,
    seed: str | None = None,
) -> Judgement:
    """Judge an implementation at its user's shapes, by draws that nobody has seen.

    Parameters
    ----------
    target
        A Python target, as `attnspec.validate` takes it. It runs in a process of its own.
    shapes
        The shapes to judge at: a file, or what one holds.
    command
        A program that speaks the process protocol, instead of a target.
    operation, device, tensors, renames
        As `attnspec.validate` takes them.
    conventions
        Conventions that it follows, over those that it declares.
    conditions
        Limits on time and memory, a sandbox, and what is forbidden.
    draws
        How many draws at each shape; fewer where they are large.
    seed
        The seed of an earlier judgement, to see the same draws again. What knows the seed can know the answers, so
        that this is no judgement.

    Raises
    ------
    AttnspecError
        If it cannot be judged: the message is a sentence that says what to do.
    """
    if shapes is None:
        raise UsageError("Say at which shapes to judge: a file of shapes, or what one holds.")
    at = read_shapes(Path(shapes)) if isinstance(shapes, Path | str) else shapes_from(shapes, said_by="shapes")
    candidate = Candidate(target, command, operation, device, tensors, renames or {})
    (found,) = judged((candidate,), at, conditions or Conditions(), conventions or {}, draws=draws, seed=seed)
    return found


def judged(
    candidates: Sequence[Candidate],
    shapes: Sequence[Shape],
    conditions: Conditions,
    conventions: Mapping[str, str],
    *,
    draws: int = DRAWS,
    seed: str | None = None,
) -> tuple[Judgement, ...]:
    """Judge candidates by the same draws.

    Parameters
    ----------
    candidates, shapes, conditions, conventions, draws, seed
        As `judge` has them.

    Raises
    ------
    AttnspecError
        If one of them cannot be started or loaded, or a shape is too large to be sent to it.
    """
    for shape in shapes:
        check_size(shape)
    own_checks = tuple(tried(shape.own_check, shape) for shape in shapes if shape.own_check is not None)
    with ExitStack() as stack:
        loaded = [
            stack.enter_context(closing(CalledInEveryDtype(opened(candidate, conditions)))) for candidate in candidates
        ]
        # Nobody can look up what is not there yet: the seed is drawn when every candidate has been loaded.
        word = seed or secrets.token_hex(8)
        asked = [_asked(implementation, shapes, conventions, word, draws) for implementation in loaded]
        for each in asked:
            each.measure()
    return tuple(
        _judged(candidate, each, conditions, own_checks, word, is_replay=seed is not None)
        for candidate, each in zip(candidates, asked, strict=True)
    )


def _asked(
    implementation: Implementation, shapes: Sequence[Shape], conventions: Mapping[str, str], seed: str, draws: int
) -> _Asked:
    """Ask a candidate for all draws."""
    asked = _Asked(implementation, conventions)
    for shape in shapes:
        for dtype in shape.dtypes:
            asked.put(questions(shape, dtype, seed, draws))
    return asked


def _judged(
    candidate: Candidate,
    asked: _Asked,
    conditions: Conditions,
    own_checks: tuple[OwnCheckFound, ...],
    seed: str,
    *,
    is_replay: bool,
) -> Judgement:
    report = make_report(
        suite_of(result.case for result in asked.results),
        asked.declaration,
        tuple(asked.results),
        conventions=asked.conventions,
        measured=asked.measured,
    )
    return judgement_of(
        candidate.name,
        report,
        at=asked.tally("at"),
        beside=asked.tally("beside"),
        seed=seed,
        is_replay=is_replay,
        conditions=conditions,
        certificates=asked.certificates,
        sampled=sampled([result.case for result in asked.results]),
        own_checks=own_checks,
        recognised=tuple(dict.fromkeys(asked.recognised)),
        gave_up=asked.gave_up,
    )


class _Asked:
    """What a candidate was asked, and what came of it.

    Parameters
    ----------
    implementation
        The candidate.
    conventions
        Conventions that it follows, over those that it declares.
    """

    def __init__(self, implementation: Implementation, conventions: Mapping[str, str]) -> None:
        self._implementation = implementation
        self.declaration = implementation.declaration
        self.conventions = conventions
        self._places: list[str] = []
        self.results: list[Result] = []
        self.recognised: list[str] = []
        self._told: dict[tuple[str, str], list[DrawTold]] = {}
        self._before: dict[tuple[str, str], Mapping[str, NDArray[Any]]] = {}
        self._too_large: set[str] = set()
        self.gave_up = False
        self.measured: Measured | None = None

    def put(self, every: Iterable[Question]) -> None:
        """Ask every question in each of its variants, the last one first in the end."""
        lost = 0
        wrong: Question | None = None
        for question in every:
            results = self._ask(question)
            lost = lost + 1 if all(result.status in _LOST for result in results) else 0
            self.gave_up = lost >= _GIVEN_UP
            if self.gave_up:
                return
            if wrong is None and any(result.is_wrong for result in results):
                wrong = question
        if wrong is not None:
            # Small answers are explained soonest, and of a large one a sample alone is kept.
            for question in smaller(wrong):
                self._ask(question)

    def measure(self) -> None:
        """Ask a candidate that went wrong once more, to find out what it computes; one that keeps ending is let be."""
        if not self.gave_up:
            self.measured = measured_of(self._implementation, tuple(self.results))

    def _ask(self, question: Question) -> Sequence[Result]:
        cases = [draw(question.recipe.in_variant(variant)) for variant in VARIANTS]
        results = run_suite(
            suite_of(cases),
            self._implementation,
            dtypes=(question.recipe.limits.dtype,),
            conventions=self.conventions,
            goes_on=True,
        )
        self._look_at(results, question)
        self.results += results
        self._places += [question.where] * len(results)
        return results

    def _look_at(self, results: Sequence[Result], question: Question) -> None:
        """Recognise what is wrong, and find what a draw is worth that is small enough to be answered otherwise."""
        self.recognised += filter(None, [recognised(results)])
        run = results[0].run
        if question.where != "at" or not isinstance(run.expected, Values) or question.shape.text in self._too_large:
            return
        about = (run.case.operation, run.dtype)
        try:
            answering = answering_of(run)
        except ValueError:
            self._too_large.add(question.shape.text)
            return
        self._told.setdefault(about, []).append(tell_apart(run, self._before.get(about), answering=answering))
        self._before[about] = answering.call.right

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """What the draws at the shapes are worth, for each operation and dtype."""
        return tuple(certificate(*about, told) for about, told in self._told.items())

    def tally(self, where: str) -> Tally:
        """Count what came of the draws at a place."""
        of = [result for result, place in zip(self.results, self._places, strict=True) if place == where]
        statuses = Counter(result.status for result in of)
        wrong = [result for result in of if result.is_wrong]
        ratios = [result.verdict.worst.ratio for result in of if result.verdict.worst is not None]
        return Tally(
            draws=len(of),
            wrong=len(wrong),
            declined=statuses["unsupported"],
            lost=sum(statuses[status] for status in _LOST),
            worst=max(ratios, default=0.0),
            first_wrong=wrong[0].case.id if wrong else None,
        )
