"""What is recorded of the work: spans made from the rows that are there anyway, and counters."""
