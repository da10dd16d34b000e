"""The commands of random cases: campaigns and the judge."""

from pathlib import Path

OPTIONS = Path(__file__).with_name("options.json")
"""The options of both, in the form of the other commands' `commands.json`."""
