"""The language server: the only room that speaks LSP. It turns requests into calls of the engine and answers from what
is known.

No analysis, no rewriting and no process handling lives here. The JSON-RPC layer is our own (`rpc`): to import a general
one alone takes as long as the answer to `initialize` may take, and its failures would reach the user.
"""
