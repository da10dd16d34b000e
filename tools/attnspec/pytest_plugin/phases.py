"""Phases of a test: a case has nothing to set up and nothing to tear down, so that its call alone goes through hooks.

Setting up and tearing down as pytest does it took longer than most cases. Reports are as ever: one for each phase.
"""

from __future__ import annotations

from functools import lru_cache, partial

import pytest
from _pytest.logging import caplog_records_key
from _pytest.runner import call_and_report  # pyright: ignore[reportUnknownVariableType]

from attnspec.pytest_plugin.items import CaseInDtype, skip

_PYTESTS_OWN = "_pytest."
"""Modules whose hooks around a test are for fixtures and for what was caught meanwhile, which a case has none of."""


def has_one_phase(item: CaseInDtype, nextitem: pytest.Item | None) -> bool:
    """Return whether nobody else has anything to set up for a test, or to tear down.

    The last one of a profile goes the ordinary way, because the profile is torn down with it.
    """
    if nextitem is None or nextitem.parent is not item.parent or item.config.option.setupshow:
        return False
    return _is_pytests_own(item.config) and not any(mark.name in ("skip", "skipif") for mark in item.own_markers)


def run_in_one_phase(item: CaseInDtype) -> None:
    """Run a test, or skip it where it is not called, and report it."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reason = item.reason_not_called()
    setup = pytest.CallInfo[None].from_call(_nothing if reason is None else partial(skip, reason), "setup")
    hook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, setup))
    if reason is None:
        item.stash[caplog_records_key] = {}  # pytest puts it there when it sets up
        call_and_report(item, "call")
    over = pytest.CallInfo[None].from_call(_nothing, "teardown")
    hook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, over))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


@lru_cache(maxsize=1)
def _is_pytests_own(config: pytest.Config) -> bool:
    """Return whether all that is done before and after a test is pytest's own."""
    hooks = (config.hook.pytest_runtest_setup, config.hook.pytest_runtest_teardown)
    return all(each.function.__module__.startswith(_PYTESTS_OWN) for hook in hooks for each in hook.get_hookimpls())


def _nothing() -> None:
    pass
