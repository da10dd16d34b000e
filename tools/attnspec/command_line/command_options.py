"""Options of the commands, as ``commands.json`` lists them; the target's come as one `Target`, those of a run as one.

Each has a flag, or a name where it is an argument, and words for click. Those under ``shared`` hold for every command
that has the flag. ``...target`` stands for all options of a target of Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache, wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.guarding import Guarding, run_in_guarded_process
from attnspec.command_line.terminal import stdout_for_a_document
from attnspec.guard.guarded_process import way_of_this_system

if TYPE_CHECKING:
    from attnspec.targets.target import Target

    Function = Callable[..., Any]
    Decorator = Callable[[Function], Function]

STDOUT = "-"
"""The report that is JSON on stdout."""

_COMMANDS = Path(__file__).with_name("commands.json")
_OF_TARGET = "...target"

_LONGEST_TIMEOUT = 86_400
"""Seconds of a day."""


class _FiniteRange(click.FloatRange):
    """A number within a range, which is neither infinite nor NaN: no such limit is ever kept."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not finite: write a number such as 10.", param, ctx)
        return number


_TYPES: Mapping[str, Callable[..., click.ParamType[Any]]] = {
    "path": lambda: click.Path(path_type=Path),
    "integer": click.IntRange,
    "number": click.FloatRange,
    "finite": _FiniteRange,
}


@dataclass(frozen=True)
class RunOptions:
    """Options of `validate` and `gate`, under the names of the command line."""

    target: Target
    dtypes: tuple[str, ...]
    profiles: tuple[str, ...]
    select: tuple[str, ...]
    conventions: tuple[str, ...]
    give_up_after: int | None
    jobs: int
    probes: bool
    resume: Path | None
    reports: tuple[str, ...]
    golden: Path | None
    quiet: bool
    verbose: bool


def with_options_of(command: str, path: Path = _COMMANDS) -> Decorator:
    """Add the arguments and options of a command to its function, as the table in a file has them."""
    facts = command_table(path)[command]
    return lambda function: _with(_parameters(facts), _with_target(function) if _OF_TARGET in facts else function)


def with_run_options(function: Function) -> Function:
    """Add the options of a run to a command, which gets them as one `RunOptions` before its own."""

    @wraps(function)
    def with_options(**given: Any) -> int:
        from attnspec.targets.target import words

        said = {field.name: given.pop(field.name) for field in fields(RunOptions)}
        for name in ("dtypes", "profiles"):
            said[name] = words(said[name])
        run = RunOptions(**said)
        guarding: Guarding = click.get_current_context().obj
        if guarding.way == "subprocess" and run.target.is_imported:
            status = run_in_guarded_process(guarding)
            if status is not None:
                return status
        with stdout_for_a_document(requested=STDOUT in run.reports):
            return function(run, **given)

    return with_options_of("run")(with_options)


def check_run_options(options: RunOptions, *, fail_fast: bool = False) -> None:
    """Raise `UsageError` if the options contradict each other; found out before anything is run."""
    target = options.target
    if (target.python is None) == (target.command is None):
        raise UsageError("Say what to validate: either TARGET (such as reference, or ./mine.py) or --command.")
    # Written so that NaN, too, is refused.
    for option, seconds in (("--timeout", target.timeout), ("--start-timeout", target.start_timeout)):
        if seconds is not None and not seconds <= _LONGEST_TIMEOUT:
            raise UsageError(f"{option} {seconds:g}: give a number of seconds, at most {_LONGEST_TIMEOUT}.")
    if options.give_up_after is not None and target.is_imported:
        raise UsageError(
            f"--give-up-after {options.give_up_after}: no call has a time limit in this process; add --timeout SECONDS."
        )
    if options.jobs > 1:
        _check_jobs(options, fail_fast=fail_fast)
    if target.is_imported:
        for option in target.options_for("process"):
            raise UsageError(f"{option} is for a --command, or for a TARGET with --isolate.")
    if target.command is not None:
        for option in target.options_for("python"):
            raise UsageError(f"{option} is for Python targets; a --command follows the protocol by itself.")


def _check_jobs(options: RunOptions, *, fail_fast: bool) -> None:
    """Raise `UsageError` if several jobs cannot do the request."""
    if fail_fast:
        raise UsageError(f"--jobs {options.jobs} and --fail-fast: which result is the first, only one job can say.")
    if options.resume is not None:
        raise UsageError(f"--jobs {options.jobs} and --resume: only one job can keep its results in a file.")
    if options.target.transcript is not None:
        raise UsageError(f"--jobs {options.jobs} and --transcript: a transcript holds what one program says.")
    if way_of_this_system() != "fork":
        raise UsageError(f"--jobs {options.jobs}: several jobs need a process that can be copied, and here none can.")


@cache
def command_table(path: Path = _COMMANDS) -> dict[str, dict[str, Any]]:
    """Return the commands with their first sentences, what several share, and the options of each."""
    return json.loads(path.read_bytes())


def _parameters(facts: Mapping[str, Any]) -> dict[str, Decorator]:
    """Return the decorators that add the parameters of a command, by flag or name."""
    found: dict[str, Decorator] = {}
    for flag, own in facts.items():
        if flag == _OF_TARGET:
            of_target = _parameters(command_table()["target"])
            found |= {name: option for name, option in of_target.items() if name not in own.get("but", ())}
        else:
            found[flag] = _parameter(flag, {**command_table()["shared"].get(flag, {}), **own})
    return found


def _parameter(flag: str, facts: dict[str, Any]) -> Decorator:
    names = [facts.pop(each) for each in ("short", "name") if each in facts]
    if "type" in facts:
        interval = {each: facts.pop(each) for each in ("min", "max", "min_open") if each in facts}
        facts["type"] = _TYPES[facts["type"]](**interval)
    if "{layouts}" in facts.get("help", ""):
        from attnspec.contract import LAYOUTS

        facts["help"] = facts["help"].format(layouts=f"{', '.join(LAYOUTS)}; {LAYOUTS[0]}")
    return (click.option if flag.startswith("-") else click.argument)(flag, *names, **facts)


def _with(parameters: Mapping[str, Decorator], function: Function) -> Function:
    # Click has decorators work from the last to the first.
    for parameter in reversed(list(parameters.values())):
        function = parameter(function)
    return function


def _with_target(function: Function) -> Function:
    """Return a function that gets the options of a target as one."""

    @wraps(function)
    def with_target(**given: Any) -> Any:
        from attnspec.targets.target import Target, target_of

        if given.pop("strict_table", False):
            from attnspec.contract.layout import layout_with_setting

            given["layout"] = layout_with_setting(given["layout"], "strict_table")
        said = {each.name: given.pop(each.name) for each in fields(Target) if each.name in given}
        return function(target=target_of(given.pop("target", None), said), **given)

    return with_target
