"""The rewrites, one rule a file: a break in, text edits or a reason out. Pure: no IO, no torch."""
