"""What drives chats: acquisition, leases, one runner per chat, model calls and tool calls, each step
committed."""
