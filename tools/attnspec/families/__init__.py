"""Families of operators: sets of operations that share notation, steps and tolerance.

A family is a folder here, listed in :mod:`attnspec.contract`. Its ``contract`` says, as data, which operations and
conventions it has; its ``family`` brings what the harness must know to judge them, which it looks up in
:func:`attnspec.contract.family_of` alone.
"""
