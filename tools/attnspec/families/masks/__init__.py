"""Masks, as the harness judges them."""
