"""What all tests share: no test fails because a machine is slow, or because of how the tests were started."""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("attnspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("attnspec")

# Started in the background or by nohup, signals are ignored, and every program that the tests start inherits that.
_HANDLERS = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
for _number in filter(None, (getattr(signal, name, None) for name in _HANDLERS)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _HANDLERS[_number.name])


def pytest_collection_modifyitems(items):
    """Begin with the newcomer's walk: it takes longest and mostly waits, so that the others run beside it."""
    items.sort(key=lambda item: "tests/use/walk/" not in item.nodeid)
