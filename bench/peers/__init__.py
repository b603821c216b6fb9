"""Others doing the same work, in an environment of their own: Holdfast cannot be imported here."""
