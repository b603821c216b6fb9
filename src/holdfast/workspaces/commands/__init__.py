"""Commands in a workspace: the wall around them, their processes, networks, limits and output."""
