"""This file puts the folder on the path, so that the tests of
every folder find the helpers here.
"""
