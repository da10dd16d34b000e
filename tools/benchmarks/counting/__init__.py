"""Counts of ``house.py``: modules and their imports, and what runs."""
