"""Norms in exact arithmetic."""
