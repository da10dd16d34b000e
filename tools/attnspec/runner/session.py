"""Session: the calls of an implementation on behalf of the runs of a suite, their results, and followers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter  # bound here, whatever an implementation makes of the module
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Suite
from attnspec.contract import CONVENTIONS
from attnspec.contract.convention import Settles
from attnspec.contract.implementation import Answer, Declined, Implementation, Outputs
from attnspec.grading import NotGraded, Run, Status, Verdict, grade
from attnspec.grading.pull import Pull
from attnspec.runner.in_calls import answered_in_calls
from attnspec.runner.memory_order import request_of
from attnspec.runner.planning import Resolved
from attnspec.runner.result import Result
from attnspec.runner.systematic import with_pull_of_sample, with_pulls
from attnspec.runner.warned import Warned

Occasion = Literal["first", "again", "changed", "part", "counterpart"]
"""Reason for a call: the first, once more, with one argument changed, a part of it, or the counterpart of a refusal."""

SECOND_CALL = "a second call with the same inputs, after other cases had run"

OCCASIONS: Mapping[Occasion, str] = {
    "first": "",
    "again": f"{SECOND_CALL}: ",
    "changed": "a call with one argument changed: ",
    "part": "a part of the case by itself: ",
    "counterpart": "the valid counterpart: ",
}
"""Occasion to the beginning of a sentence about it."""

Key = tuple[str, str]
"""Case id and dtype."""


class Follower(Protocol):
    """Observer of a run: how far it got, while it runs."""

    def keep_request(self, run: Run, occasion: Occasion) -> None:
        """Take note that the implementation is called on behalf of a run."""
        ...

    def keep_result(self, result: Result) -> None:
        """Take note of a result; a later one of the same (case, dtype) replaces it."""
        ...

    def keep_pulls(self, pulls: Mapping[Key, Pull]) -> None:
        """Take note of what the errors of passing results say together, once all are there."""
        ...


class Kept:
    """Follower that keeps the results, for a run that may be interrupted, and passes all on to others."""

    def __init__(self, *others: Follower) -> None:
        self.results: dict[Key, Result] = {}
        self._others = others

    @property
    def count(self) -> int:
        """How many (case, dtype) have a result."""
        return len(self.results)

    def results_since(self, count: int) -> tuple[list[Result], int]:
        """Return the first results of the runs that came after so many, and how many there are; from any thread."""
        came = list(self.results.values())
        return came[count:], len(came)

    def keep_request(self, run: Run, occasion: Occasion) -> None:
        """Pass it on; there is nothing to keep."""
        for other in self._others:
            other.keep_request(run, occasion)

    def keep_result(self, result: Result) -> None:
        """Keep a result, and pass it on."""
        self.results[result.case.id, result.dtype] = result
        for other in self._others:
            other.keep_result(result)

    def keep_pulls(self, pulls: Mapping[Key, Pull]) -> None:
        """Pass them on: the results that are kept are for a run that ends early."""
        for other in self._others:
            other.keep_pulls(pulls)


@dataclass
class Session:
    """An implementation that is called for the runs of a suite, and the last result of each (case, dtype), in order.

    `statuses` are of runs that were made for others and have no result of their own; `found_late` has sentences on what
    came after the answer to a run; `warned` counts warnings of the implementation's own code.
    """

    suite: Suite
    implementation: Implementation
    resolved: Resolved
    follower: Follower | None = None
    judge: Callable[[Run, Answer], Verdict] = grade
    results: dict[Key, Result] = field(default_factory=dict["Key", Result])
    statuses: dict[Key, Status] = field(default_factory=dict["Key", "Status"])
    found_late: dict[Key, str] = field(default_factory=dict["Key", str])
    warned: Warned = field(default_factory=Warned)

    def call(
        self,
        run: Run,
        occasion: Occasion,
        on_behalf_of: Run | None = None,
        handed: Mapping[str, NDArray[Any]] | None = None,
    ) -> tuple[Answer, float]:
        """Return the answer to a run, and the seconds that it took; fresh arrays are handed over if none are given.

        More than the answer may be found to have come, however late: it belongs to the result of the run on whose
        behalf the call was made.
        """
        behalf = run if on_behalf_of is None else on_behalf_of
        if self.follower is not None:
            self.follower.keep_request(behalf, occasion)

        def found(sentence: str) -> None:
            key = (behalf.case.id, behalf.dtype)
            self.found_late.setdefault(key, f"{OCCASIONS[occasion]}{sentence}")
            if key in self.results:
                self.keep(self.results[key])

        request = request_of(run, found, handed)
        start = perf_counter()
        with np.errstate(divide="warn", over="warn", invalid="warn"):
            answer = self.implementation.run(request)
            calls = run.family.in_calls(request) if isinstance(answer, Declined) else None
            if calls is not None:
                answer = answered_in_calls(self.implementation, calls)
        seconds = perf_counter() - start
        if not isinstance(answer, Outputs) or not (answer.overwritten or answer.inputs_changed):
            return answer, seconds
        departing = self.resolved.of(run.case.operation).departing
        written = {name for convention in departing[Settles.IN_PLACE] for name in CONVENTIONS[convention].changes}
        changed = tuple(name for name in answer.inputs_changed if name not in written)
        overwritten = () if departing[Settles.LIFETIME] else answer.overwritten
        return answer._replace(inputs_changed=changed, overwritten=overwritten), seconds

    def is_in_first_dtype(self, run: Run) -> bool:
        """Return whether a run is in the first dtype of its case that has a result: where one of them is enough."""
        return run.dtype == next(dtype for dtype in run.case.runs if (run.case.id, dtype) in self.results)

    def first_result(self, run: Run, on_behalf_of: Run | None = None) -> Result:
        """Call the implementation for a run, for the first time or on behalf of another one, and grade the answer."""
        if isinstance(run.expected, NotGraded):
            return Result(run, Verdict("unsupported", message=run.expected.reason), 0.0, None)
        occasion: Occasion = "first" if on_behalf_of is None else "counterpart"
        self.warned.taken()
        answer, seconds = self.call(run, occasion, on_behalf_of)
        at_default = self._declined_at_default(run) if isinstance(answer, Declined) else ()
        if at_default:
            # Left out, they have the same value: who does not know an attribute needs no other.
            plainer = run._replace(
                attributes={name: value for name, value in run.attributes.items() if name not in at_default}
            )
            plain, taken = self.call(plainer, occasion, on_behalf_of)
            if isinstance(plain, Declined):
                at_default = ()
            else:
                run, answer, seconds = plainer, plain, taken
        warned = self.warned.taken()
        verdict = self.judge(run, answer)
        if warned[0]:
            verdict = verdict._replace(warned=warned)
        got = answer.values if isinstance(answer, Outputs) else None
        if got is not None and run.case.thinned:
            # Outputs of a thinned case are let go: those of a few such cases would fill the memory.
            verdict = with_pull_of_sample(run, verdict, got)
            got = None
        return Result(run, verdict._replace(at_default=at_default) if at_default else verdict, seconds, got)

    def _declined_at_default(self, run: Run) -> tuple[str, ...]:
        """Return the attributes at their default of a declined request; none where a signature says what is taken."""
        operation = run.operation
        if operation.name in self.implementation.declaration.arguments:
            return ()
        return tuple(run.attributes.keys() - operation.beside_defaults(run.attributes, ()).keys())

    def keep(self, result: Result) -> None:
        """Keep a result instead of an earlier one of its run, and pass it on to the follower.

        It is malformed where more than the answer was found to have come.
        """
        key = (result.run.case.id, result.run.dtype)
        if key in self.found_late:
            verdict = Verdict("malformed", message=self.found_late[key])
            result = result._replace(verdict=verdict, got=None, same_bits=None)
        self.results[key] = result
        if self.follower is not None:
            self.follower.keep_result(result)

    def keep_pulls(self) -> None:
        """Keep with each result that passed what its errors say, which is summed for all of them together."""
        self.results = dict(zip(self.results, with_pulls([*self.results.values()]), strict=True))
        pulls = ((key, result.verdict.pull) for key, result in self.results.items())
        found = {key: pull for key, pull in pulls if pull is not None}
        if self.follower is not None:
            self.follower.keep_pulls(found)
