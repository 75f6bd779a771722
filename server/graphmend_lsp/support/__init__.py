"""What mended programs need to run: `graphmend_support`, one file that is written into the user's project or installed.

It needs the standard library and torch alone. Nothing of the server imports it; `engine.support_text` reads its text, and takes
from it what a project's mended files import: a statement that is no definition fills a key of `_shared`, or defines operators.
"""
