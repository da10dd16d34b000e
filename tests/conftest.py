"""What all tests share: no test fails because a machine is slow, or because of how the tests were started."""

import signal

import pytest
from hypothesis import HealthCheck, settings

from .warm_commands import WarmCommands

settings.register_profile("attnspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("attnspec")

# Started in the background or by nohup, signals are ignored, and every program that the tests start inherits that.
_HANDLERS = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
for _number in filter(None, (getattr(signal, name, None) for name in _HANDLERS)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _HANDLERS[_number.name])


@pytest.fixture(scope="session")
def warm_commands():
    """The command line in processes of its own, without the start of Python for each."""
    commands = WarmCommands()
    yield commands
    commands.close()
