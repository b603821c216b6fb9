"""Hints and live parts, within a process and between replicas. Losing anything here causes a delay, never
corruption."""
