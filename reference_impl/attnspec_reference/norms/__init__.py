"""Norms: tokens, queries and keys brought to one size."""
