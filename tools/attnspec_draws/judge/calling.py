"""Calls of a candidate: every question is put to it, and its answers are graded in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from attnspec.cases import suite_of
from attnspec.grading import NOT_GRADED, Values
from attnspec.runner import Result, run_suite
from attnspec.runner.result import Measured
from attnspec.targets import Implementation
from attnspec.validation import measure_failures
from attnspec_draws import Recipe, draw
from attnspec_draws.judge.candidate import Conditions
from attnspec_draws.judge.certificate import Certificate, certificate
from attnspec_draws.judge.distinguishing import DrawReported, answering_of, distinguish, recognised
from attnspec_draws.judge.questions import Question, requested_again, smaller
from attnspec_draws.judge.tally import Tally, tally_of

_GIVEN_UP = 3
"""Calls in a row without an answer after which no more is called."""

_LOST = ("crash", "timeout")

_NO_ANSWER = (*_LOST, "malformed")
"""Statuses of calls without an answer: to read a line without end takes as long each time as to wait for one."""

_MOST_OF = 0.5
"""The share of questions answered wrongly from which on a trick explains them; the others have a cause of their own."""

Follower = Callable[[str], None]
"""Receiver of the progress, in a few words."""


class Calling:
    """Calls made to a candidate so far, and their outcome; `follow` receives the progress.

    The seed is the word that all is drawn by, the conventions those that answers are graded by.
    """

    def __init__(
        self,
        implementation: Implementation,
        conventions: Mapping[str, str],
        conditions: Conditions,
        seed: str,
        follow: Follower,
    ) -> None:
        self._implementation = implementation
        self.declaration = implementation.declaration
        self.conventions = conventions
        self.conditions = conditions
        self.seed = seed
        self._follow = follow
        self._where: list[str] = []
        self.results: list[Result] = []
        self._tricks: Counter[str] = Counter()
        self._wrong = 0
        self._reported: dict[tuple[str, str], list[DrawReported]] = {}
        self._before: dict[tuple[str, str], Mapping[str, NDArray[Any]]] = {}
        self._too_large: set[str] = set()
        self._seconds = 0.0
        self.stopped: str | None = None
        self.measured: Measured | None = None

    def put(self, every: Sequence[Question]) -> None:
        """Put every question in each of its variants; large ones, of which no answer is kept, once more in the end."""
        wrong: Question | None = None
        for number, question in enumerate(every, 1):
            if self.stopped:
                return
            self._follow(f"draw {number} of {len(every)} in {question.recipe.limits.dtype}")
            results = self._ask(question.recipes, question)
            if wrong is None and any(result.is_wrong for result in results):
                wrong = question
        large = [question for question in every if question.recipe.limits.sample]
        for question in reversed(large):
            if not self.stopped:
                self._ask([requested_again(question, self.seed)], question, is_first=False)
        if wrong is not None:
            # Small answers are explained soonest, and of a large one a sample alone is kept.
            for question in smaller(wrong):
                if not self.stopped:
                    self._ask(question.recipes, question)

    def measure(self) -> None:
        """Ask a candidate that went wrong once more, to find out what it computes; one that keeps ending is let be."""
        if not self.stopped:
            self._follow("measuring")
            self.measured = measure_failures(self._implementation, tuple(self.results))

    def _ask(self, recipes: Sequence[Recipe], question: Question, *, is_first: bool = True) -> Sequence[Result]:
        # Those that are called once more are run together, so that others come between; large ones are called once, and
        # one after the other, so that the numbers of one alone are in memory.
        together = [[recipe] for recipe in recipes] if question.recipe.limits.sample else [recipes]
        results = [
            result
            for some in together
            for result in run_suite(
                suite_of(draw(recipe) for recipe in some),
                self._implementation,
                dtypes=(question.recipe.limits.dtype,),
                conventions=self.conventions,
                goes_on=True,
            )
        ]
        # Nothing is found out by the numbers of an answer of a wrong shape, which may fill this process's memory.
        results = [each._replace(got=None) if each.verdict.check == "shape" else each for each in results]
        self._recognise(results)
        if is_first and question.where == "at":
            self._distinguish(results[0], question)
        self.results += results
        self._where += [question.where] * len(results)
        self._seconds += sum(result.seconds for result in results)
        self._stop()
        return results

    def _stop(self) -> None:
        """Find out whether to ask no more."""
        limit = self.conditions.total_seconds
        last = self.results[-_GIVEN_UP:]
        if len(last) == _GIVEN_UP and all(result.status in _NO_ANSWER for result in last):
            self.stopped = "No more was called after three in a row without an answer."
        elif limit is not None and self._seconds > limit:
            self.stopped = f"No more was called: all calls together took more than {limit:g} seconds."

    def _recognise(self, results: Sequence[Result]) -> None:
        trick = recognised(results)
        if trick is not None:
            self._tricks[trick] += 1
        # Of a large answer little is kept to recognise anything by.
        is_whole = not results[0].case.thinned
        self._wrong += trick is not None or (is_whole and any(result.is_wrong for result in results))

    def _distinguish(self, result: Result, question: Question) -> None:
        """Find what a draw is worth that was answered, and is small enough to be answered otherwise."""
        run = result.run
        if not isinstance(run.expected, Values) or question.shape.text in self._too_large:
            return
        if result.status in NOT_GRADED:
            return
        about = (run.case.operation, run.dtype)
        try:
            answering = answering_of(run)
        except ValueError:
            self._too_large.add(question.shape.text)
            return
        self._reported.setdefault(about, []).append(distinguish(run, self._before.get(about), answering=answering))
        self._before[about] = answering.call.right

    @property
    def recognised(self) -> tuple[str, ...]:
        """Recognise wrong answers that were there before, a sentence each, as far as it is so of most of them."""
        return tuple(trick for trick, many in self._tricks.most_common() if many >= _MOST_OF * self._wrong)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Certify the draws at the shapes, for each operation and dtype."""
        return tuple(certificate(*about, reported) for about, reported in self._reported.items())

    def tally(self, where: str) -> Tally:
        """Count the outcomes of the draws at a shape, or beside it."""
        of = [result for result, its in zip(self.results, self._where, strict=True) if its == where]
        return tally_of(of, _LOST)
