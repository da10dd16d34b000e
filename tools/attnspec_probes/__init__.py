"""Calling a wrong implementation again, with probes of the diagnosis's own, to measure what it computes."""

from attnspec_probes.measuring import measured
from attnspec_probes.probe_calls import Asking, OutOfCallsError

__all__ = ["Asking", "OutOfCallsError", "measured"]
