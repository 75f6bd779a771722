"""Choices between values, selected elements and numbers that stay tensors, and their text. Reads `facts` and `syntax`."""
