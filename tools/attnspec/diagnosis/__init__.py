"""Finding out which mistake explains the failures of an implementation."""

from attnspec.diagnosis.diagnosing import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
