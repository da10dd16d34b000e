"""Layers of latent attention: their heads make keys and values of one latent of each token."""
