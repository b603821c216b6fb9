"""Holdfast as a contender."""
