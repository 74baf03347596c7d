"""What every command line shares: messages, progress, exit codes."""
