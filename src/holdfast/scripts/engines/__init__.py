"""The sandboxes. The server has `sandbox`, `messages`, `limits` and `wall`; everything else here runs in a
process of its own and imports the standard library and one engine, nothing more."""
