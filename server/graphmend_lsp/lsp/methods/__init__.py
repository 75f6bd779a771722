"""One LSP method (or a group that belongs together) a file. A handler reads parameters, asks the workspace, answers."""
