"""The command that writes test vectors."""

from pathlib import Path

OPTIONS = Path(__file__).with_name("options.json")
"""Its options, in the form of the other commands' `commands.json`."""
