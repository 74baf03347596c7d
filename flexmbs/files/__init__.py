"""File access: written atomically, never over another type of file, read within the available
memory.
"""
