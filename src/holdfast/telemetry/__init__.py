"""What is recorded about the work: spans made from rows that exist anyway, and counters."""
