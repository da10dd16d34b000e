"""Caches, as the harness judges them."""
