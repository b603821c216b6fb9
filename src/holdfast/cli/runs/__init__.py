"""Runs of workflows on the command line: watched, told as they go, shown when they are over."""
