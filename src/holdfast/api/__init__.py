"""The HTTP API: handlers parse, call one thing, and map the answer. One module per resource."""
