"""Git on a workspace's repository, without trusting anything in the repository: changes and worktrees."""
