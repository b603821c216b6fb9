"""The least that the same durable bytes cost on this machine: group commit and nothing else."""
