"""A run: records and addresses for the compiled loop, batches of outputs, events, outcome."""
