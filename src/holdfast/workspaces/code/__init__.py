"""What a workspace's source code defines and uses, for the tools that map it."""
