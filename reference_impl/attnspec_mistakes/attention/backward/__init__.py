"""What goes wrong in the backward pass of scaled dot-product attention, in the order of its steps."""
