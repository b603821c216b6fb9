"""The sandboxes. The server uses `sandbox`, `messages`, `limits` and `wall`; everything else here runs in a
separate process and imports only the standard library and one engine."""
