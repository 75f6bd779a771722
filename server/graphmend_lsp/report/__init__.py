"""A report for people and machines: text, JSON, SARIF. Pure."""
