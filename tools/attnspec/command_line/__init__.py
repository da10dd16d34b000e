"""The command line: ``attnspec validate TARGET`` and its fellows.

Exit status: 0 nothing wrong, 1 something wrong, 2 could not be run, 130 interrupted.
"""

from __future__ import annotations

import sys

import click

from attnspec.command_line.inspect import check, explain, list_cases, show
from attnspec.command_line.mistakes import mistakes
from attnspec.command_line.regenerate import regenerate
from attnspec.command_line.validate import validate
from attnspec.errors import AttnspecError
from attnspec.version import __version__

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attnspec")
def attnspec() -> None:
    """Validate implementations of attention against certified golden cases."""


for _command in (validate, list_cases, show, explain, check, mistakes, regenerate):
    attnspec.add_command(_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; never a traceback for bad input."""
    try:
        status = attnspec.main(args=arguments, prog_name="attnspec", standalone_mode=False)
    except AttnspecError as error:
        click.echo(f"attnspec: {error}", err=True)
        return 2
    except click.exceptions.Abort:
        click.echo("attnspec: interrupted", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except KeyboardInterrupt:
        click.echo("attnspec: interrupted", err=True)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status if isinstance(status, int) else 0
