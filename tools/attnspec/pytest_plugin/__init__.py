"""The pytest plugin: ``pytest --attnspec TARGET`` makes a test of each (case, dtype).

TARGET runs in the process of pytest, unprotected: what ends its process ends pytest. ``attnspec validate`` and
``attnspec gate`` guard their runs.

Without the option it does nothing, and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, named after those of ``attnspec validate``."""
    group = parser.getgroup("attnspec", "conformance of attention")
    group.addoption(
        "--attnspec",
        metavar="TARGET",
        help="Validate TARGET: reference, torch, package.module, ./mine.py, ./mine.py:MyAdapter. "
        "On a command line without paths of tests, nothing else is run.",
    )
    group.addoption(
        "--attnspec-command", metavar="COMMAND", help="A program that speaks the process protocol, instead of TARGET."
    )
    for name, metavar, sentence in (
        ("dtype", "DTYPE", "Run in this dtype. Repeatable."),
        ("profile", "PROFILE", "Run this profile. Repeatable."),
        ("select", "GLOB", "Run the cases whose id matches. Repeatable."),
        ("convention", "K=V", "What TARGET follows. Repeatable."),
        ("rename", "OWN=ARGUMENT", "TARGET's own name for an argument. Repeatable."),
        ("without", "WORDS", "What TARGET does not offer: float_mask,grouped_query. Repeatable."),
    ):
        group.addoption(f"--attnspec-{name}", action="append", default=[], metavar=metavar, help=sentence)
    for name, metavar, sentence in (
        ("layout", "LAYOUT", "How its tensors are laid out, as `attnspec validate --help` lists it."),
        ("as", "OPERATION", "TARGET is one function: this operation."),
        ("tensors", "LIBRARY", "What TARGET takes and returns: torch, jax or numpy."),
        ("device", "DEVICE", "Where TARGET is to run, if it takes one, such as cuda."),
        ("golden", "FOLDER", "Another folder of golden files."),
    ):
        group.addoption(f"--attnspec-{name}", metavar=metavar, help=sentence)
    group.addoption(
        "--attnspec-timeout",
        type=float,
        metavar="SECONDS",
        help="For each call; TARGET then runs in a process of its own, so that it may crash or hang.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect the cases if there is something to validate."""
    if config.getoption("attnspec") is None and config.getoption("attnspec_command") is None:
        return
    from attnspec.pytest_plugin.collecting import Collecting

    config.pluginmanager.register(Collecting(config), "attnspec_collecting")
