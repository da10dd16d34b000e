"""Outcomes of draws: plain data that goes from workers to the campaign, into its file, and into its summary."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attnspec.grading import WRONG


@dataclass(frozen=True)
class DrawOutcome:
    """Outcome of one draw that did not plainly pass, with the verdict's status, check and sentence."""

    recipe: str
    status: str
    check: str | None
    message: str

    @property
    def is_wrong(self) -> bool:
        """Whether the implementation did something wrong."""
        return self.status in WRONG

    @property
    def kind(self) -> tuple[str, str]:
        """Key that it shares with others that go wrong in the same way: operation, and check or status."""
        return self.recipe.removeprefix("draw:").split("/", 1)[0], self.check or self.status


@dataclass(frozen=True)
class PartOutcome:
    """Outcome of a part of a campaign: counts by status and by feature, greatest length by axis.

    `others` are draws that neither passed nor were declined; `worst` is the largest error / tolerance that passed.
    """

    key: str
    statuses: Mapping[str, int]
    others: tuple[DrawOutcome, ...] = ()
    features: Mapping[str, int] = field(default_factory=dict[str, int])
    longest: Mapping[str, int] = field(default_factory=dict[str, int])
    worst: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a file."""
        return asdict(self)


def outcome_from_json(document: Mapping[str, Any]) -> PartOutcome:
    """Read what `PartOutcome.as_json` wrote."""
    stated = dict(document)
    others = tuple(DrawOutcome(**each) for each in stated.pop("others"))
    return PartOutcome(others=others, **stated)


@dataclass(frozen=True)
class Tally:
    """Tally of all draws of a campaign.

    Declined draws are not offered, ungraded ones say nothing; `wrong` are in the order of their texts.
    """

    draws: int
    passed: int
    declined: int
    ungraded: int
    wrong: tuple[DrawOutcome, ...]
    features: Mapping[str, int]
    longest: Mapping[str, int]
    worst: float


def merged(key: str, outcomes: Iterable[PartOutcome]) -> PartOutcome:
    """Merge outcomes, in whatever order they come."""
    statuses: Counter[str] = Counter()
    features: Counter[str] = Counter()
    longest: dict[str, int] = {}
    others: list[DrawOutcome] = []
    worst = 0.0
    for outcome in outcomes:
        statuses.update(outcome.statuses)
        features.update(outcome.features)
        others += outcome.others
        worst = max(worst, outcome.worst)
        for axis, length in outcome.longest.items():
            longest[axis] = max(longest.get(axis, 0), length)
    return PartOutcome(key, dict(statuses), tuple(others), dict(features), longest, worst)


def tallied(outcomes: Iterable[PartOutcome]) -> Tally:
    """Tally the outcomes of parts."""
    every = merged("", outcomes)
    wrong = (draw for draw in every.others if draw.is_wrong)
    return Tally(
        draws=sum(every.statuses.values()),
        passed=every.statuses.get("pass", 0),
        declined=every.statuses.get("unsupported", 0),
        ungraded=every.statuses.get("ungraded", 0),
        wrong=tuple(sorted(wrong, key=lambda draw: (draw.kind, len(draw.recipe), draw.recipe))),
        features=dict(sorted(every.features.items())),
        longest=dict(sorted(every.longest.items())),
        worst=every.worst,
    )
