"""What goes wrong in scaled dot-product attention, in the order of its steps."""
