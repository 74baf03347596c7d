"""What users hold: a model, and the solution of a run; their methods call the rooms below."""
