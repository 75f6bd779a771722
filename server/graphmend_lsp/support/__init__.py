"""What mended programs need to run: `graphmend_support`, one file that is written into the user's project or installed.

It needs the standard library and torch alone. Nothing of the server imports it; `engine.support` reads its text.
"""
