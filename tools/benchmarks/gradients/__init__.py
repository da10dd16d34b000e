"""Gradients of attention in many ways, for ``backward_tolerance_margins.py``."""
