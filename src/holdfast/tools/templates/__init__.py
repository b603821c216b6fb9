"""Templates of workspaces: directories with a `template.toml`, below a configured root or at a git
address."""
