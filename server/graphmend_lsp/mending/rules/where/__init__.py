"""The rule `where`: `rule` says what it does and proposes, `examples` are its tests and its page."""
