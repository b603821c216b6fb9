"""Changes under control: what agents changed in workspaces, kept to be reviewed and taken back."""
