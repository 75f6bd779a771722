"""Runs in the user's interpreter, started by path: standard library and torch only."""
