"""Runs that programs of this folder make: those that are recorded, and targets that are given as files."""
