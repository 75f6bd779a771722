"""The rule `hoist`: `rule` says what it does and proposes, `examples` are its tests and its page."""
