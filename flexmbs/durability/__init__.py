"""Durability: damage at the nodes of flexible bodies from cycles of stress histories.

S–N curves have mean-stress corrections.
"""
