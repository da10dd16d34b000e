"""Pytest plugin: ``pytest --attnspec TARGET`` makes a test of each (case, dtype).

TARGET runs in the process of pytest, unprotected: a crash of it ends pytest. ``attnspec validate`` and ``attnspec
gate`` guard their runs. Without the option it does nothing, and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.pytest_plugin.options import pytest_addoption

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Collect the cases if there is something to validate."""
    if config.getoption("attnspec") is None and config.getoption("attnspec_command") is None:
        return
    from attnspec.pytest_plugin.collecting import Collecting

    config.pluginmanager.register(Collecting(config), "attnspec_collecting")
