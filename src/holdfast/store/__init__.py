"""The store: one interface, two engines. SQL lives only here."""
