"""Texts and pairs as sequences of tokens, long ones in passages."""
