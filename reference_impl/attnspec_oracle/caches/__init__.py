"""Caches in exact arithmetic."""
