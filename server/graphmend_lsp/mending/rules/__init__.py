"""The rules, a folder each: `NAME`, its docstring, `propose`, its examples and refusals."""
