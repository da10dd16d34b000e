"""What authors of the suite need: recipes, regeneration, proof, mutants, third parties, releases.

It is there in a checkout alone, and nothing that is installed imports it but one place in ``attnspec.command_line``.
"""
