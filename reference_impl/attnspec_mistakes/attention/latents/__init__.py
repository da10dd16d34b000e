"""What goes wrong in latent attention, in its absorbed form, and in both where latents lie in pages."""
