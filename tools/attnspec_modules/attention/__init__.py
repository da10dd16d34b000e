"""Layers of attention: multi-head attention that holds its own matrices and biases."""
