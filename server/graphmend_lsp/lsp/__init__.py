"""The language server: the only room that imports pygls and lsprotocol."""
