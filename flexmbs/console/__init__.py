"""Functions shared by all command lines: messages, progress, exit codes."""
