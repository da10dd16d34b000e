"""Families of operators: sets of operations that share notation, steps and tolerance.

:mod:`attnspec.contract` says, as data, which operations and conventions a family has; ``family`` in its folder here
brings all else that judging them needs, which the harness looks up in :mod:`attnspec.families.lookup` alone.
"""
