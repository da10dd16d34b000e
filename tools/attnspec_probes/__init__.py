"""Calling a wrong implementation again, with probes of the diagnosis's own, to measure what it computes."""

from attnspec_probes.measuring import Calling, OutOfCallsError, measured

__all__ = ["Calling", "OutOfCallsError", "measured"]
