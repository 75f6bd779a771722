"""The benches whose tables are pages: their data, their rows and the pages."""
