"""Tools of the suite's authors: recipes, regeneration, proof, mutants, third parties, releases.

It is there in a checkout alone, and nothing that is installed imports it but one line in ``attnspec.command_line``.
"""
