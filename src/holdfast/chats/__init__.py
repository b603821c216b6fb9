"""The chat state machine: pure functions (view, commands) -> change or refusal. No I/O; imports only
`core`."""
