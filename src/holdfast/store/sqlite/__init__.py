"""The SQLite engine: one writer thread with group commit, a few readers, one server process per file."""
