"""File access: atomic writing, never over another type of file; reading within the memory."""
