"""The text of a program and its tree: where things stand, how they are spelled, and edits of them. Knows nothing of values."""
