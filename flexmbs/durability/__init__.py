"""Durability: cycles of stress histories, S–N curves with mean-stress corrections, damage at the
nodes of flexible bodies."""
