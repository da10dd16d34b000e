"""Masks: which keys a query may attend to."""
