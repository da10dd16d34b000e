"""Diagnosis of failures: a known mistake, or the facts about failures that nobody knows."""

from attnspec.diagnosis.declarations import Declarations, could_be_declared
from attnspec.diagnosis.diagnosing import UNKNOWN, Diagnosis, diagnose

__all__ = ["UNKNOWN", "Declarations", "Diagnosis", "could_be_declared", "diagnose"]
