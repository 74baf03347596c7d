"""Files that are read and written: whole or not at all, of their own kind, no more than the machine can hold."""
