"""What joins the validator by name: it is there, does what the table says, and is imported once it is needed."""

import subprocess
import sys

import click
import pytest

from attnspec.base.extensions import COMMANDS, MEASURED, RANDOM_CASES, import_object
from attnspec.cases import random_case
from attnspec.command_line import attnspec as command_line

OWN = """
import sys
import numpy as np
import attnspec
from attnspec.command_line import main

def wrong(x):
    return {"result": np.zeros_like(x)}

assert not attnspec.validate(wrong, operation="softmax", select="documents/001/softmax_of_rows", probes=False).conforms
assert main(["--help"]) == 0
print(*sys.modules, file=sys.stderr)
"""
"""A program that validates and asks for help, and writes down what it imported."""

BESIDE = ("attnspec_adapters", "attnspec.commands.", "attnspec_draws", "attnspec_probes")
"""How the names of modules begin that stand beside the validator, or are a command of their own."""


@pytest.mark.parametrize("function", [*RANDOM_CASES.values(), MEASURED])
def test_what_an_extension_brings_can_be_called(function):
    assert callable(import_object(function))


@pytest.mark.parametrize("name", command_line.commands)
def test_a_command_has_the_line_of_help_that_stands_in_the_table(name):
    _, command, _ = command_line.resolve_command(click.Context(command_line), [name])
    assert command.name == name
    for width in (20, 60, 1_000):
        assert command.get_short_help_str(width) == command_line.commands[name].get_short_help_str(width)


def test_the_commands_of_extensions_are_offered():
    assert {*COMMANDS} < {*command_line.commands}


def test_a_text_is_handed_to_what_makes_its_case():
    text = "draw:softmax/7/1:float32"
    assert random_case(text).id == text


def test_nothing_that_stands_beside_is_imported_before_it_is_needed():
    done = subprocess.run([sys.executable, "-c", OWN], check=True, capture_output=True, text=True, timeout=120)
    imported = done.stderr.split()
    assert "attnspec.validation" in imported
    beside = {name for name in imported if name.startswith(BESIDE)}
    assert beside == set()
    assert "judge" in done.stdout
