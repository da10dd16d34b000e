"""Rotary positions: frequencies, tables of their cosines and sines, and the rotation of queries and keys."""
