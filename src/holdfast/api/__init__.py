"""The HTTP API. A handler parses the request, calls one thing and maps the answer. One module per
resource."""
