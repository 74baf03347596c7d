"""The reduced flexible body: its record, its file, its checks, its stress modes."""
