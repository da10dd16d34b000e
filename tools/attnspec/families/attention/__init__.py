"""Attention: softmax, masks, heads, and the operators that are made of them."""
