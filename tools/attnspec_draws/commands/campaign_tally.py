"""Tally of a campaign on a terminal: outcomes of the draws, what was drawn, and what was not and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attnspec.command_line.terminal import say
from attnspec.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from attnspec_draws.campaign import PartOutcome, Plan, Tally
    from attnspec_draws.commands.campaign_asked import Asked
    from attnspec_draws.commands.campaign_progress import Drawing


def tell_tally(tally: Tally, drawing: Drawing, plan: Plan, asked: Asked, console: Console) -> None:
    """Print what came of the draws, what was drawn, and what was not."""
    earlier = f"{drawing.before:,} of them earlier, the others " if drawing.before else ""
    draws = counted(tally.draws, "draw") if tally.draws < 1_000 else f"{tally.draws:,} draws"
    say(
        f"{draws}{', ' if earlier else ' '}{earlier}in {drawing.seconds:.1f} s: {tally.passed:,} passed, "
        f"{len(tally.wrong):,} failed, {tally.declined:,} declined, {tally.ungraded:,} not graded.",
        console,
    )
    if tally.passed:
        say(f"Worst error / tolerance of a pass: {tally.worst:.3g}.", console)
    if tally.draws > tally.declined and tally.features:
        most = sorted(tally.features.items(), key=lambda each: (-each[1], each[0]))
        say("Drawn: " + ", ".join(f"{feature} {count:,}" for feature, count in most) + ".", console)
    if tally.draws > tally.declined and tally.longest:
        say("Longest: " + ", ".join(f"{axis} {length:,}" for axis, length in tally.longest.items()) + ".", console)
    left_out = list(_left_out(plan, asked))
    if left_out:
        say(f"Not offered, and so not drawn: {', '.join(left_out)}.", console)


def _left_out(plan: Plan, asked: Asked) -> Iterator[str]:
    """Give what the target does not offer: dtypes, then features, with operation and dtype where others have them."""
    drawn = {kind.limits.dtype for kind in plan.kinds}
    yield from (dtype for dtype in asked.task.dtypes if dtype not in drawn)
    asked_for = asked.sought.without.union(asked.task.target.without)
    for word in sorted(frozenset[str]().union(*(kind.limits.without for kind in plan.kinds)) - asked_for):
        lacking = [kind for kind in plan.kinds if word in kind.limits.without]
        if len(lacking) == len(plan.kinds):
            yield word
            continue
        places: list[str] = []
        for operation in dict.fromkeys(kind.operation for kind in lacking):
            dtypes = [kind.limits.dtype for kind in lacking if kind.operation == operation]
            in_all = len(dtypes) == sum(kind.operation == operation for kind in plan.kinds)
            places.append(operation if in_all else f"{operation} in {', '.join(dtypes)}")
        yield f"{word} ({'; '.join(places)})"


def ungraded_sentence(tally: Tally, plan: Plan, outcomes: Mapping[str, PartOutcome], target: str) -> str | None:
    """Return why a campaign has shown nothing; None where draws passed or failed."""
    if tally.passed or tally.wrong:
        return None
    first = next(iter(plan.parts_done(outcomes)), None)
    if first is None:
        return "Nothing was drawn: the time was over before. Give it more with --minutes."
    ended = "declined" if tally.declined == tally.draws else "declined, or not graded"
    one = debugging(first.recipes[0].text, target)
    return f"Nothing could be graded: all draws were {ended}. To see why of one:\n  {one}"


def debugging(recipe: str, target: str) -> str:
    """Return the command that asks a target for one draw."""
    import shlex

    return f"attnspec debug {shlex.quote(recipe)} {shlex.quote(target)}"


def tell_failures_as_they_are(tally: Tally, target: str, console: Console) -> None:
    """Print the failures of an interrupted campaign, before anything is made small."""
    for kind in dict.fromkeys(each.kind for each in tally.wrong):
        alike = [each for each in tally.wrong if each.kind == kind]
        operation, check = kind
        console.print()
        say(f"{operation}: {counted(len(alike), 'draw')} failed so far ({check}), such as:", console, style="bold red")
        say(alike[0].message, console, indent=2)
        click.echo(f"  {debugging(alike[0].recipe, target)}")
