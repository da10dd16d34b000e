"""Tolerances of attention: running error bounds of its operations and of their gradients."""
