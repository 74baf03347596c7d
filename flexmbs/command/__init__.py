"""Commands of the command line; each imports its dependencies when it runs."""
