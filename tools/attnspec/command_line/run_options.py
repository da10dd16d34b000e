"""Options for the target, the cases and the reports; shared by `validate` and `gate`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.command_line.guarding import conclusion_elsewhere
from attnspec.command_line.target_options import target_options
from attnspec.command_line.terminal import stdout_for_a_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec.command_line.guarding import Guarding
    from attnspec.targets.target import Target

STDOUT = "-"
"""The report that is JSON on stdout."""

_OPTIONS = (
    click.argument("target", required=False),
    click.option("--command", metavar="COMMAND", help="A program that speaks the process protocol, instead of TARGET."),
    click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Run in this dtype. Repeatable."),
    click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Run this profile. Repeatable."),
    click.option("--select", multiple=True, metavar="GLOB", help="Run the cases whose id matches. Repeatable."),
    click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable."),
    target_options(),
    click.option(
        "--timeout", type=click.FloatRange(min=0.001), metavar="SECONDS", help="For each call; implies --isolate."
    ),
    click.option(
        "--start-timeout",
        type=click.FloatRange(min=0.001),
        metavar="SECONDS",
        help="For the start of a program, or of an isolated TARGET; 60 if not said.",
    ),
    click.option(
        "--give-up-after",
        type=click.IntRange(min=1),
        metavar="N",
        help="Run no more after N timeouts in a row; 3 if not said.",
    ),
    click.option("--isolate", is_flag=True, help="Run TARGET in a process of its own, so that it may crash."),
    click.option(
        "--jobs",
        type=click.IntRange(1, 256),
        default=1,
        metavar="N",
        help="Run N shares of the cases at the same time.",
    ),
    click.option(
        "--no-probes",
        "probes",
        flag_value=False,
        default=True,
        help="Do not call what went wrong again, to measure what it computes.",
    ),
    click.option(
        "--stderr", "show_stderr", is_flag=True, help="Show what the program, or an isolated TARGET, prints to stderr."
    ),
    click.option(
        "--transcript",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Write every message to and from the program into FILE.",
    ),
    click.option(
        "--resume",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Keep results in FILE as they come, and go on with those that it holds.",
    ),
    click.option(
        "--report",
        "reports",
        multiple=True,
        metavar="FILE",
        help="FILE.json, .xml, .md, .html, badge.json; - for JSON.",
    ),
    click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files."),
    click.option("--quiet", is_flag=True, help="Print one closing line only."),
    click.option("--verbose", "-v", is_flag=True, help="Print all that is known of what went wrong, and more cases."),
)


@dataclass(frozen=True)
class RunOptions:
    """Shared options, under the names of the command line."""

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


def run_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the shared options to a command, which gets them as one `RunOptions` before its own."""

    @wraps(function)
    def with_options(**given: Any) -> int:
        from attnspec.targets.target import words

        said = {field.name: given.pop(field.name) for field in fields(RunOptions)}
        for name in ("dtypes", "profiles"):
            said[name] = words(said[name])
        options = RunOptions(**said)
        guarding: Guarding = click.get_current_context().obj
        if guarding.way == "subprocess" and options.target.is_imported:
            status = conclusion_elsewhere(guarding)
            if status is not None:
                return status
        with stdout_for_a_document(asked=STDOUT in options.reports):
            return function(options, **given)

    decorated: Callable[..., int] = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
