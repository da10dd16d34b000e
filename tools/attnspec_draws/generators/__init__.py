"""Case generators: what a case made from a seed may have, and what draws it.

This room holds what all families draw with; what is drawn, and how often, is in the rooms of each family.
"""
