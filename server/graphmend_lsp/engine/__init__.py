"""The flow from a snapshot of the source to proven mends; supervises the worker. Knows nothing of LSP."""
