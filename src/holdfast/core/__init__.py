"""Plain frozen data that every other package speaks: ids, parts, messages, usage, events, errors, the clock.
No I/O."""
