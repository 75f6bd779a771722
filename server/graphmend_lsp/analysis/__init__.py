"""The static tier: likely graph breaks found in source text with `ast`. Pure: no IO, no torch, never raises."""
