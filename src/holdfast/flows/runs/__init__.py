"""Flow runs: how they start, how they are driven, and what people do to them."""
