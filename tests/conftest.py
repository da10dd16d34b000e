"""What all tests share: no test fails because a machine is slow, or because of how the tests were started."""

import gc
import os
import shutil
import signal
import subprocess
import sys

# Before NumPy is loaded, and for every program that the tests start: as many processes run as there are cores, and
# threads for products beside them would wait for each other in loops. It made a third of all the time of processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases import selecting

from .warm_commands import WarmCommands

settings.register_profile("attnspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("attnspec")

# As the command line does: thousands of tests and cases are kept, and looking among them for cycles takes its time.
gc.set_threshold(100_000, 20, 20)

# Started in the background or by nohup, signals are ignored, and every program that the tests start inherits that.
_HANDLERS = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
for _number in filter(None, (getattr(signal, name, None) for name in _HANDLERS)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _HANDLERS[_number.name])


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Run one worker more than there are cores: at times each waits for a program that hangs, as it is tried with."""
    number = yield
    return number if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else number + 1


def pytest_collection_modifyitems(items):
    """Begin with the newcomers' walks: they take longest and mostly wait, and one process makes what they share."""
    items.sort(key=lambda item: not item.nodeid.startswith(("tests/use/walk/", "tests/use/test_contributing.py")))


def pytest_terminal_summary(terminalreporter, exitstatus):
    """Behind failures, name the lists in which an operation, a mistake or a control was forgotten: they may be why."""
    if exitstatus in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        command = [sys.executable, "-m", "attnspec", "check", "--all"]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        if checked.returncode == 1:
            terminalreporter.section("attnspec check --all")
            terminalreporter.write(checked.stderr)


def read_once(read_case):
    """Read each case of the shipped folder once for all tests of a process: many load some, and some load all."""
    cases = {}

    def read(folder, case_id, entry):
        if folder != GOLDEN_FOLDER:
            return read_case(folder, case_id, entry)
        key = (case_id, entry["sha256"])
        if key not in cases:
            cases[key] = read_case(folder, case_id, entry)
        return cases[key]

    return read


selecting.read_case = read_once(selecting.read_case)


@pytest.fixture(scope="session")
def warm_commands():
    """The command line in processes of its own, without the start of Python for each."""
    commands = WarmCommands()
    yield commands
    commands.close()


CHROMIUM = os.environ.get("ATTNSPEC_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def browser():
    """A browser for the pages of reports and of the site: one for both, since two of them cannot run in a process."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("the browser tests need a Chromium: apt-get install chromium, or name it in ATTNSPEC_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(browser):
    """One context for all pages: a new one for each would take most of the time."""
    context = browser.new_context()
    # A machine that is busy takes several seconds for what takes a tenth alone; a page that never answers still ends.
    context.set_default_timeout(30_000)
    return context
