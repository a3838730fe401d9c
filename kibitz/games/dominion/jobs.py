"""Jobs: what a frame on the stack is to do.

The numbers to 15 are the kinds of questions that a view tells apart; 12 to 14 are for sets to come,
and every job from 15 on is OTHER there.
"""

DISCARD, TRASH, GAIN, PLAY_FROM_HAND, TOPDECK, TOPDECK_DISCARDED, YES_NO, REACT = range(1, 9)
TRASH_LOOKED, DISCARD_LOOKED, ORDER_LOOKED = range(9, 12)
OTHER = 15
PLAY, DRAW, LOOK = range(15, 18)
