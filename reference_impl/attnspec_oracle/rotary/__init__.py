"""Rotary positions: powers, logarithms, cosines and sines in balls, rotations in exact fractions."""
