"""Certificate of a set of draws: which trivial answers would have failed it, and which would have passed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from attnspec.base.errors import UsageError
from attnspec.validation.one_case import run_of
from attnspec_draws import Recipe, draw
from attnspec_draws.generators.random_cases import trivial_answers_of
from attnspec_draws.generators.refusing import REFUSED
from attnspec_draws.judge.distinguishing import DISTINGUISHED, THE_SAME, UNDECIDED, DrawReported, distinguish

DRAWS = 64
"""Draws a set: of attention's, 40 of 40 were complete in float32, 38 in bfloat16 (spec/studies/trivial-answers.md)."""


@dataclass(frozen=True)
class TrivialAnswerReported:
    """Trivial answer against a set of draws: how many distinguish it, leave it open or have the same answer.

    The other draws say nothing of it. `best_ratio` is the largest error / tolerance, `first` the first draw that
    distinguishes it; None where none does.
    """

    name: str
    sentence: str
    distinguished: int
    undecided: int
    the_same: int
    best_ratio: float
    first: str | None

    @property
    def applies(self) -> bool:
        """Whether its arithmetic is another in any draw; where nothing is causal, that of who looks ahead is not."""
        return self.distinguished + self.undecided > 0


@dataclass(frozen=True)
class Certificate:
    """Certificate of a set of draws of one operation in one dtype: its power to distinguish trivial answers.

    Draws are left out where too few of their elements are graded, or there are none; `graded_share` is of the others.
    `within_rounding` are the trivial answers, by name with their sentences, that no draw in the dtype distinguishes,
    because the roundings that it allows could give them.
    """

    operation: str
    dtype: str
    draws: int
    left_out: tuple[str, ...]
    graded_share: float
    trivial_answers: tuple[TrivialAnswerReported, ...]
    within_rounding: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def distinguished(self) -> tuple[TrivialAnswerReported, ...]:
        """Trivial answers that a draw distinguishes."""
        return tuple(each for each in self.trivial_answers if each.distinguished)

    @property
    def not_distinguished(self) -> tuple[TrivialAnswerReported, ...]:
        """Trivial answers that differ from the right one in some draw, and that none distinguishes."""
        return tuple(each for each in self.trivial_answers if each.applies and not each.distinguished)

    @property
    def not_applicable(self) -> tuple[TrivialAnswerReported, ...]:
        """Trivial answers whose arithmetic is right in every draw."""
        return tuple(each for each in self.trivial_answers if not each.applies)

    @property
    def is_complete(self) -> bool:
        """Whether every trivial answer that differs from the right one is distinguished, and there is any."""
        return bool(self.distinguished) and not self.not_distinguished

    def sentence(self) -> str:
        """Say what the set is worth, and which trivial answers would pass it."""
        if not self.within_rounding:
            return f"{self._of_tried()}."
        passing = "; ".join(self.within_rounding.values())
        return f"{self._of_tried()}. Roundings of {self.dtype} are as large as these, which could pass: {passing}."

    def _of_tried(self) -> str:
        """Say what the set is worth against the trivial answers that were tried."""
        if not self.draws:
            return f"In {self.dtype}, no draw counts: in each of them, too much is not graded"
        of = len(self.distinguished) + len(self.not_distinguished)
        draws = f"In {self.dtype}, {'1 draw distinguishes' if self.draws == 1 else f'{self.draws} draws distinguish'}"
        if not of:
            return f"{draws} nothing: every cheap wrong answer that was tried is right there"
        if not self.not_distinguished:
            return f"{draws} every one of {of} cheap wrong answers from the right ones"
        passing = "; ".join(each.sentence for each in self.not_distinguished)
        return (
            f"{draws} {len(self.distinguished)} of {of} cheap wrong answers from the right ones; "
            f"these could have passed: {passing}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return what stands for it in a report."""
        return {
            "operation": self.operation,
            "dtype": self.dtype,
            "draws": self.draws,
            "left_out": list(self.left_out),
            "graded_share": self.graded_share,
            "complete": self.is_complete,
            "sentence": self.sentence(),
            "told_apart": [each.name for each in self.distinguished],
            "not_told_apart": [each.name for each in self.not_distinguished],
            "not_applicable": [each.name for each in self.not_applicable],
            "within_rounding": [*self.within_rounding],
            "impostors": [
                {("told_apart" if name == "distinguished" else name): value for name, value in asdict(each).items()}
                for each in self.trivial_answers
            ],
        }


def certificate(operation: str, dtype: str, reported: Sequence[DrawReported]) -> Certificate:
    """Certify draws, from what each says of every trivial answer, in their order."""
    counting = [each for each in reported if each.counts]
    expected = sum(each.expected for each in counting)
    graded = sum(each.graded for each in counting)
    trivial_answers = tuple(
        _of_trivial_answer(each.name, each.sentence, counting)
        for each in trivial_answers_of(operation)
        if dtype in each.dtypes
    )
    others = {each.name: each.sentence for each in trivial_answers_of(operation) if dtype not in each.dtypes}
    left_out = tuple(each.case for each in reported if not each.counts)
    share = graded / expected if expected else 0.0
    return Certificate(operation, dtype, len(counting), left_out, share, trivial_answers, others)


def certify(
    recipes: Sequence[Recipe], conventions: Mapping[str, str], *, outputs: Collection[str] | None = None
) -> Certificate:
    """Draw a set of cases of one operation in one dtype, and return its certificate.

    A draw's answer to repeat is what was right before it. `outputs` None means those that are always expected.
    `UsageError` where there are no recipes, several operations or dtypes, or cases cannot be drawn.
    """
    kinds = sorted({(recipe.operation, recipe.limits.dtype) for recipe in recipes})
    if len(kinds) != 1:
        found = ", ".join(f"{operation} in {dtype}" for operation, dtype in kinds) or "none"
        raise UsageError(f"A certificate is about draws of one operation in one dtype; these are of {found}.")
    (_, dtype), before = kinds[0], None
    reported: list[DrawReported] = []
    for recipe in recipes:
        # Refusals distinguish no answers; the draw as it is right does.
        case = draw(recipe.leaving_out((REFUSED,)))
        reported.append(distinguish(run_of(case, dtype, conventions), before, outputs=outputs))
        before = case.golden(dtype)
    return certificate(*kinds[0], reported)


def _of_trivial_answer(name: str, sentence: str, reported: Sequence[DrawReported]) -> TrivialAnswerReported:
    of_draws = [each.trivial_answers[name] for each in reported]
    tellings = [each.telling for each in of_draws]
    return TrivialAnswerReported(
        name,
        sentence,
        distinguished=tellings.count(DISTINGUISHED),
        undecided=tellings.count(UNDECIDED),
        the_same=tellings.count(THE_SAME),
        best_ratio=max((each.ratio for each in of_draws), default=0.0),
        first=next((each.case for each in reported if each.trivial_answers[name].telling == DISTINGUISHED), None),
    )
