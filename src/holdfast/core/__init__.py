"""Plain frozen data shared by every other package: ids, parts, messages, usage, events, errors, the clock. No
I/O."""
