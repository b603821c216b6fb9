"""Runs chats: acquisition, one runner per chat, model calls and tool calls, each step committed."""
