"""Result of one run of one case, and laws: rules that an implementation was measured to follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from attnspec.base.plain_text import plain_text
from attnspec.cases import Case
from attnspec.grading import OF_RUN, WRONG, Run, Status, Verdict

_OF_CALLS = (".inputs_unchanged", ".memory_layout", ".repeatable")
"""Endings of clauses about a call: its inputs, its effects on them, and the outputs of a second one."""


STAYED_THE_SAME = "stayed the same to the last bit"
"""Words of the message that a result did not change with an argument that it depends on."""


def depends_on_earlier_calls(clause: str | None) -> bool:
    """Return whether a clause, where it is broken, says that results depend on earlier calls."""
    return clause is not None and clause.endswith(".repeatable")


def shows_earlier_calls(result: "Result") -> bool:
    """Return whether a result shows that it depends on earlier calls, and not only that a changed call is wrong."""
    if result.verdict.check != "repeatable":
        return False
    changed = result.case.changed_argument
    # Of an attribute it may be that it is merely not looked at.
    is_tensor = changed is not None and changed.name in result.case.inputs
    return result.same_bits is False or (is_tensor and STAYED_THE_SAME in result.verdict.message)


_LONGEST_MESSAGE = 100
"""Characters of a message in a line about a result."""


class Result(NamedTuple):
    """The verdict on one (case, dtype), and the seconds that the first answer took.

    Outputs are kept for failures and for the diagnosis, else None. `same_bits`: whether the second pass returned the
    same bits, None without one. `numbers_alone`: only numbers came back, in a file, so that side effects were not seen.
    """

    run: Run
    verdict: Verdict
    seconds: float
    got: Mapping[str, NDArray[Any]] | None
    same_bits: bool | None = None
    numbers_alone: bool = False

    def __repr__(self) -> str:
        """Return case, dtype and verdict on a line; arrays are never printed."""
        said = f", {plain_text(self.verdict.message, longest=_LONGEST_MESSAGE)}" if self.verdict.message else ""
        return f"Result({self.case.id}, {self.dtype}: {self.status}{said})"

    @property
    def case(self) -> Case:
        """The case."""
        return self.run.case

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses of the case, without those that numbers alone cannot show where there is nothing else."""
        clauses = self.case.clauses
        return tuple(clause for clause in clauses if not clause.endswith(_OF_CALLS)) if self.numbers_alone else clauses

    @property
    def dtype(self) -> str:
        """The dtype of the run, or ``any`` for a case without floats."""
        return self.run.dtype

    @property
    def key(self) -> tuple[str, str]:
        """Case id and dtype."""
        return self.case.id, self.dtype

    @property
    def status(self) -> Status:
        """The verdict's status."""
        return self.verdict.status

    @property
    def at_default(self) -> frozenset[str]:
        """Attributes that have their default in the case, and without which the implementation was called."""
        return self.run.at_default.union(self.verdict.at_default)

    @property
    def is_of_run(self) -> bool:
        """Whether it is of the run as a whole, and of no case."""
        return self.verdict.check in OF_RUN

    @property
    def is_wrong(self) -> bool:
        """Whether the implementation did something wrong here."""
        return self.verdict.status in WRONG

    @property
    def establishes(self) -> bool:
        """Whether it is a pass that speaks for conformance: something was compared, here or in a valid counterpart."""
        return self.verdict.status == "pass" and (self.case.rejects is not None or self.verdict.graded > 0)


@dataclass(frozen=True)
class Law:
    """A rule that an implementation was seen to follow, instead of the expected one.

    The kind, such as ``scale``, is a word of the family. One clause where the computation was measured, several where
    only the faulty part was. Probes were made from `case`; `confirmed` further cases go wrong just as the law says. The
    sentence is empty where results that were not used to find it do not uphold it: then it is a suspicion alone.
    """

    operation: str
    kind: str
    clauses: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    case: str = ""
    confirmed: int = 0

    @property
    def is_found(self) -> bool:
        """Whether it says which rule is computed, and not only which part goes wrong."""
        return len(self.clauses) == 1


@dataclass(frozen=True)
class Measured:
    """Laws that probes brought, those of one operation together, and the number of calls that they took."""

    laws: tuple[Law, ...] = ()
    calls: int = 0
