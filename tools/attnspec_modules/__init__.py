"""Layers that hold their own weights, as the operation that they are: of PyTorch, Flax and Keras, and plain classes.

What they are made with, which parameter holds which matrix, how they are called and masked is found by names, shapes
and probes (`find`), or written down in an adapter.
"""
