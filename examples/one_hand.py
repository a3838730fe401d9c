"""Play a hand of Liar's Dice between two players, from Python."""

import kibitz

game = kibitz.load("liars_dice", dice=(3, 3))
table = kibitz.table(game, seed=7)
players = [kibitz.player("honest", game), kibitz.player("threshold", game)]
while not table.over:
    seat = table.turn
    table.play(table.ask(players[seat]))
    print(f"{players[seat].name}: {table.events[-1].text}")
print(table.seen(0))
print(table.scores)
