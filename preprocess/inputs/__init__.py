"""User input: checks of arguments, numbers in text files, guards of foreign readers, and the
preprocessor's warning.
"""
