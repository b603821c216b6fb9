"""Changes that agents made in workspaces, kept so that they can be reviewed and undone."""
