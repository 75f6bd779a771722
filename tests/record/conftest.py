"""The programs that are recorded are no tests of ours, though one of them is a test."""

collect_ignore = ["programs"]
