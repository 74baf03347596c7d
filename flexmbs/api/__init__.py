"""The user's model and the solution of a run; their methods call the lower packages."""
