"""What is known of values: kinds, bindings, aliases, gradients, effects, ranks, dtypes. Reads `syntax`; writes no text."""
