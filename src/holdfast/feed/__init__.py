"""What watchers receive: committed changes from the database and live parts from the bus, exactly once, over
SSE and WebSocket."""
