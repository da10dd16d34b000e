"""Witnesses: a search for the random cases with the largest error / tolerance that an implementation still passes.

``python -m attnspec_authoring.third_party.witnesses NAME --minutes 1`` prints them as JSON. Half of the time goes to
random cases of everything that is offered; the other half to those with the largest so far, with other numbers in
tensors of the same shapes. The witnesses of any version that the table has are tried first, so that none is lost.
"""

from __future__ import annotations

import json
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.guard.task import Task
from attnspec.targets.target import Target
from attnspec_authoring.results import Witness, read_results
from attnspec_draws import Recipe, draw, recipe_from_text
from attnspec_draws.campaign.plan import Sought
from attnspec_draws.campaign.working import ask, open_once, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attnspec.runner import Result
    from attnspec_draws.campaign.plan import Kind

SEED = "witness"
"""The seed of the search: the same cases are tried for every library and version that offers them."""

_ROOT = Path(__file__).parents[3]

_PLANNING = 600.0
"""Seconds in which it is found out what is offered: a library that compiles each shape takes minutes."""

_KEPT = 3
"""Cases of a dtype that are tried with other numbers: the largest of all may be so by its shape or by its numbers."""


class Search:
    """A search under way: the worst passes of each dtype, and how many cases were graded."""

    def __init__(self, grade: Callable[[Recipe], tuple[float, str] | None]) -> None:
        self.graded = 0
        self._grade = grade
        self._found: dict[str, list[Witness]] = {}

    def try_case(self, recipe: Recipe) -> None:
        """Grade a case, and keep it where it is among the worst of its dtype."""
        graded = self._grade(recipe)
        if graded is None:
            return
        self.graded += 1
        ratio, output = graded
        kept = self._found.setdefault(recipe.limits.dtype, [])
        kept.append(Witness(recipe.limits.dtype, recipe.text, output, float(f"{ratio:.4g}")))
        kept.sort(key=lambda witness: -witness.ratio)
        del kept[_KEPT:]

    def kept(self) -> list[Witness]:
        """Return the worst passes of all dtypes that are tried further."""
        return [witness for kept in self._found.values() for witness in kept]

    def worst(self) -> tuple[Witness, ...]:
        """Return the worst pass of each dtype."""
        return tuple(kept[0] for _, kept in sorted(self._found.items()) if kept)


def search_for(
    seconds: float, search: Search, kinds: Sequence[Kind], clock: Callable[[], float] = time.monotonic
) -> None:
    """Search for so many seconds: first at random, then beside what was worst."""
    start = clock()
    for recipe in _at_random(kinds):
        if clock() >= start + seconds / 2:
            break
        search.try_case(recipe)
    for variant in count(1):
        beside = search.kept()
        if not beside:
            return
        for witness in beside:
            if clock() >= start + seconds:
                return
            search.try_case(recipe_from_text(witness.text).in_variant(variant))


def _at_random(kinds: Sequence[Kind]) -> Iterator[Recipe]:
    """Give random cases without end, of all kinds in turn."""
    for number in count() if kinds else ():
        for kind in kinds:
            yield Recipe(kind.operation, SEED, number, kind.limits_of(number))


def worst_of_pass(result: Result) -> tuple[float, str] | None:
    """Return error / tolerance and output of the worst element; None for what did not pass, or compared none."""
    worst = result.verdict.worst
    return None if result.status != "pass" or worst is None else (worst.ratio, worst.output)


def witnesses_of(target: Target, seconds: float, earlier: Sequence[str] = ()) -> tuple[int, tuple[Witness, ...]]:
    """Search the witnesses of a target, after those that are known; returns how many cases were graded, too."""
    task = Task(target)
    kinds = planned(task, Sought(SEED))
    implementation = open_once(task)
    search = Search(lambda recipe: worst_of_pass(ask(implementation, [draw(recipe)], task)[0]))
    for text in earlier:
        search.try_case(recipe_from_text(text))
    search_for(seconds, search, kinds)
    return search.graded, search.worst()


def witnesses_in(python: str, target: str, minutes: float) -> tuple[int, tuple[Witness, ...]]:
    """Search the witnesses of a target in another interpreter; where that fails, says so and finds nothing."""
    command = [python, "-m", __spec__.name, target, "--minutes", str(minutes)]
    # To find out what is offered takes a while before the search begins.
    limit = 60 * minutes + _PLANNING
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, cwd=_ROOT)
    except subprocess.TimeoutExpired:
        click.echo(f"{target}: the search for witnesses took more than {limit:g} seconds.", err=True)
        return 0, ()
    if done.returncode:
        click.echo(f"{target}: the search for witnesses failed: {done.stderr.strip()[-200:]}", err=True)
        return 0, ()
    document = json.loads(done.stdout)
    return document["searched"], tuple(Witness(*row) for row in document["witnesses"])


@click.command()
@click.argument("name")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True)
def main(name: str, minutes: float) -> None:
    """Search the random cases that NAME passes with the largest error / tolerance."""
    earlier = [witness.text for result in read_results() if result.name == name for witness in result.witnesses]
    graded, found = witnesses_of(Target(python=name), 60 * minutes, tuple(dict.fromkeys(earlier)))
    click.echo(json.dumps({"searched": graded, "witnesses": found}))


if __name__ == "__main__":
    main()
