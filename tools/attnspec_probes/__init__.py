"""Calling a wrong implementation again, with probes of the diagnosis's own, to measure what it computes."""

from attnspec_probes.measuring import measured
from attnspec_probes.probe_calls import Calling, OutOfCallsError

__all__ = ["Calling", "OutOfCallsError", "measured"]
