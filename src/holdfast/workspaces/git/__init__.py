"""Git on a workspace's repository, without trusting anything the repository says: changes and worktrees."""
