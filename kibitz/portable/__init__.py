"""Runtimes without torch, for lightweight clients: this folder works when copied elsewhere.

`banddper` needs the standard library only, `banddper_numpy` needs NumPy.
"""
