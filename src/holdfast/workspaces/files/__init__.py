"""Files of a workspace: found by descriptor below its root, read, changed and compared."""
