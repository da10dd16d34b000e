"""Steps that error bounds, alternatives and layouts of attention share: attendance, quantization, rounding."""
