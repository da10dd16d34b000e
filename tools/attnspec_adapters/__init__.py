"""Adapters that come with attnspec. Each is imported only when it is named.

A library that computes attention in several ways has one adapter for each, named after both: ``torch`` is what a
user of PyTorch gets who chooses nothing, ``torch-math`` and ``torch-flash`` are its kernels, ``torch-flex`` its other
interface, ``torch-mha`` its module.
"""
