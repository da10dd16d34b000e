"""Completion in the three shells: the scripts, and what words complete to."""

import shutil
import subprocess

import pytest
from click.shell_completion import ShellComplete

from attnspec.command_line import attnspec, main


def completed(*words):
    """What click would offer for the last of some words."""
    *before, begun = words
    complete = ShellComplete(attnspec, {}, "attnspec", "_ATTNSPEC_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(before, begun)]


def values(*words):
    return [value for kind, value in completed(*words) if kind == "plain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed_and_is_sound(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_ATTNSPEC_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", "-c", script], check=False, timeout=60).returncode == 0


def test_a_shell_that_is_not_known_is_reported_in_a_sentence(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "gate"])
def test_a_target_completes_to_what_is_built_in_and_to_files(command):
    assert completed(command, "ref") == [("plain", "reference"), ("file", "ref")]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["validate", "--profile", "sm"], ["smoke"]),
        (["validate", "--dtype", "b"], ["bfloat16"]),
        (
            ["validate", "--convention", "input_checks="],
            ["input_checks=strict", "input_checks=lenient", "input_checks=none"],
        ),
        (["gate", "--layout", "bs"], ["bshe"]),
        (["validate", "--as", "soft"], ["softmax"]),
        (["validate", "--select", "documents/001/softmax_of_r"], ["documents/001/softmax_of_rows"]),
        (["show", "documents/001/softmax_of_r"], ["documents/001/softmax_of_rows"]),
        (["explain", "input_c"], ["input_checks"]),
        (["explain", "sdpa.window_sym"], ["sdpa.window_symmetric"]),
        (["list", "--clause", "sdpa.window.l"], ["sdpa.window.left"]),
        (["list", "--mistake", "sdpa.window_sym"], ["sdpa.window_symmetric"]),
        (["list", "--operation", "causal"], ["causal_mask"]),
        (["list", "--profile", "mas"], ["masking", "masks"]),
    ],
)
def test_options_complete_to_their_values(words, offered):
    assert values(*words) == offered
