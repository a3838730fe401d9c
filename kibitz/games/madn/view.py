"""stub"""
from ...game import layout, rule
def view(options): return layout(("x", options.cells))
def planes(options): return layout(("planes", (3, options.cells)))
@rule
def observe(s, seat, view): view.x[0] = 0
@rule
def observe_planes(s, seat, view): view.planes[0,0] = 0
@rule
def known(s, seat): return s.plies + 1
