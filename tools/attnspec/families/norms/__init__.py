"""Norms, as the harness judges them."""
