"""Hints and live parts, within a process and between replicas. Losing anything here delays, never
corrupts."""
