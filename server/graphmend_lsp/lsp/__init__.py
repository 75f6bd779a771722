"""The language server: the only room that speaks LSP. It turns requests into calls of the engine and answers from what is known.

No analysis, no rewriting and no process handling lives here. The JSON-RPC layer is our own (`rpc`): a general one answers
`initialize` too late for a keystroke budget and passes its own failures on to the user.
"""
