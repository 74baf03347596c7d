"""Reading and writing of files: written atomically, never over another kind of file, read within
the memory.
"""
