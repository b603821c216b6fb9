"""Others doing the same work, in a separate environment: Holdfast cannot be imported here."""
