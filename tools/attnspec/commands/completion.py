"""``attnspec completion SHELL``: the script by which a shell completes words."""

from __future__ import annotations

import click

from attnspec.command_line import PROGRAM

_VARIABLE = "_ATTNSPEC_COMPLETE"
"""The variable that click reads when a shell asks for completions; it follows from the name of the program."""

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes words of attnspec in SHELL.

    bash: attnspec completion bash >> ~/.bashrc

    zsh: attnspec completion zsh >> ~/.zshrc

    fish: attnspec completion fish > ~/.config/fish/completions/attnspec.fish
    """
    from click.shell_completion import get_completion_class

    of_shell = get_completion_class(shell)
    assert of_shell is not None
    script = of_shell(context.find_root().command, {}, PROGRAM, _VARIABLE)
    # Not `source()`, which starts a shell to ask for its version.
    click.echo(script.source_template % script.source_vars())
