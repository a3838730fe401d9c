"""Mutants of the games' own rules, views and laws."""

from __future__ import annotations

from mutant import rule_mutant

SMALL_GAMES = [
    rule_mutant(
        "kuhn: a re-deal leaves the other card",
        "games/kuhn.py",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[1 - seat] = s.card[1 - seat]",
        "games/test_kuhn.py::test_a_redeal_gives_the_other_seat_either_of_the_other_cards",
    ),
    rule_mutant(
        "kuhn: a re-deal deals the card that the seat holds itself",
        "games/kuhn.py",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[1 - seat] = below(rng, 3)",
        "games/test_kuhn.py::test_a_redeal_gives_the_other_seat_either_of_the_other_cards",
    ),
    rule_mutant(
        "kuhn: known is the same after a bet as after a pass",
        "games/kuhn.py",
        "number += (32 << i) * int(s.bets[i])",
        "number += 32 << i",
        "games/test_kuhn.py::test_what_a_seat_knows_is_named_once",
    ),
    rule_mutant(
        "kuhn: everybody sees the card of seat 0",
        "games/kuhn.py",
        "1 if card == s.card[seat] else 0",
        "1 if card == s.card[0] else 0",
        "games/test_kuhn.py::test_a_view_is_the_own_card_and_the_bets",
    ),
    rule_mutant(
        "kuhn: both seats may hold the same card",
        "games/kuhn.py",
        "if first == second != NO_CARD or first == NO_CARD != second:",
        "if first == NO_CARD != second:",
        "games/test_kuhn.py::test_a_position_that_breaks_a_law_is_answered_with_it",
    ),
    rule_mutant(
        "kuhn: everybody hears which card is dealt",
        "games/kuhn.py",
        "if turn(s) == CHANCE and seat != (0 if s.card[0] == NO_CARD else 1):",
        "if turn(s) == CHANCE and seat > 1:",
        "games/test_kuhn.py::test_a_card_is_news_for_the_seat_that_is_dealt_it_alone",
    ),
    rule_mutant(
        "liars_dice: a re-deal never rolls the highest face",
        "games/liars_dice/view.py",
        "s.hand[other, below(rng, s.hand.shape[1])] += 1",
        "s.hand[other, below(rng, s.hand.shape[1] - 1)] += 1",
        "games/test_liars_dice.py::test_a_new_hand_of_the_other_seat_is_any_roll_with_its_probability",
    ),
    rule_mutant(
        "liars_dice: known is the same for both hands",
        "games/liars_dice/view.py",
        "hand = hand * (int(s.dice[seat]) + 1) + int(s.hand[seat, face])",
        "hand = hand * (int(s.dice[0]) + 1) + int(s.hand[0, face])",
        "games/test_liars_dice.py::test_different_knowledge_has_different_names[(1, 1)]",
    ),
    rule_mutant(
        "liars_dice: a seat sees the other dice",
        "games/liars_dice/view.py",
        "for i in range(s.hand[seat, face]):",
        "for i in range(s.hand[1 - seat, face]):",
        "games/test_liars_dice.py::test_the_worked_example_is_encoded_as_printed",
    ),
    rule_mutant(
        "liars_dice: a hand may have any number of dice",
        "games/liars_dice/laws.py",
        "if shown != max(due, 0):",
        "if shown < 0:",
        "games/test_liars_dice.py::test_a_position_that_breaks_a_law_is_answered_with_it",
    ),
    rule_mutant(
        "liars_dice: everybody hears what is rolled",
        "games/liars_dice/text.py",
        "if turn(s) == CHANCE and seat != (0 if s.rolled < s.dice[0] else 1):",
        "if turn(s) == CHANCE and seat > 1:",
        "games/test_liars_dice.py::test_a_die_is_news_for_the_seat_that_rolls_it_alone",
    ),
]

BEASTY_BAR = [
    rule_mutant(
        "beasty_bar: a re-deal leaves the other hands",
        "games/beasty_bar/view.py",
        "s.hand[other], s.pile[other] = dealt_anew(s, other, rng)",
        "s.hand[other] = s.hand[other]",
        "games/test_beasty_bar_seen.py::test_what_a_seat_knows_contains_its_hand",
    ),
    rule_mutant(
        "beasty_bar: a re-deal deals from the pile alone",
        "games/beasty_bar/view.py",
        "        pile |= 1 << species(at(hand, slot))\n",
        "        pile |= 0\n",
        "games/test_beasty_bar_seen.py::test_a_redeal_keeps_sizes_and_the_cards_each_seat_has",
    ),
    rule_mutant(
        "beasty_bar: known leaves out the own hand",
        "games/beasty_bar/view.py",
        "counts << 32 | int(s.hand[seat])",
        "counts << 32",
        "games/test_beasty_bar_seen.py::test_what_a_seat_knows_contains_its_hand",
    ),
    rule_mutant(
        "beasty_bar: a seat sees the hand of the next",
        "games/beasty_bar/view.py",
        "show(view.hand, slot, at(int(s.hand[seat]), slot), seat)",
        "show(view.hand, slot, at(int(s.hand[seat - 1]), slot), seat)",
        "games/test_beasty_bar_seen.py::test_rows_worked_by_hand",
    ),
    rule_mutant(
        "beasty_bar: cards may be missing",
        "games/beasty_bar/laws.py",
        "return found != (1 << 12 * players) - 1",
        "return found < 0",
        "games/test_beasty_bar_seen.py::test_a_position_that_breaks_a_law_is_answered_with_it",
    ),
    rule_mutant(
        "beasty_bar: everybody hears which card is drawn",
        "games/beasty_bar/text.py",
        "if turn(s) == CHANCE and s.draws != seat:",
        "if turn(s) == CHANCE and seat < 0:",
        "games/test_beasty_bar_seen.py::test_a_card_that_is_drawn_is_news_for_its_seat_alone",
    ),
]

DOMINION = [
    rule_mutant(
        "dominion: a re-deal does not forget what others have put on their decks",
        "games/dominion/knowledge.py",
        "            s.acted[other, i, 1] = 0\n",
        "            s.acted[other, i, 1] += 0\n",
        "games/test_dominion_cards.py::"
        "test_what_artisan_puts_back_is_not_at_the_tables_that_others_imagine",
    ),
    rule_mutant(
        "dominion: what was selected stays when the question is over",
        "games/dominion/resolve.py",
        "            s.selected[chosen] = 0\n",
        "            s.selected[chosen] += 0\n",
        "games/test_dominion_cards.py::"
        "test_what_artisan_puts_back_is_not_at_the_tables_that_others_imagine",
    ),
    rule_mutant(
        "dominion: a re-deal leaves the hand of the seat to move",
        "games/dominion/knowledge.py",
        "for _ in range(ATTEMPTS):",
        "for _ in range(0):",
        "games/test_dominion.py::"
        "test_the_hand_of_a_seat_that_decides_and_what_it_looks_at_are_dealt_anew",
    ),
    rule_mutant(
        "dominion: OpenSpiel resamples no hand of a seat to move",
        "games/dominion/knowledge.py",
        "for _ in range(ATTEMPTS):",
        "for _ in range(0):",
        "adapters/test_open_spiel.py::test_a_resampled_hand_is_no_more_like_the_truth_than_like_another"
        "_though_its_seat_is_to_move",
    ),
    rule_mutant(
        "dominion: a re-deal forgets what everybody has seen",
        "games/dominion/knowledge.py",
        "            s.deck[owner, slot] += int(s.hand[owner, slot]) - int(s.shown[owner, slot])\n"
        "            s.hand[owner, slot] = s.shown[owner, slot]\n",
        "            s.deck[owner, slot] += int(s.hand[owner, slot])\n"
        "            s.hand[owner, slot] = 0\n",
        "games/test_dominion.py::test_a_redeal_is_even_over_all_places_that_are_not_known",
    ),
    rule_mutant(
        "dominion: known tells cards on other decks",
        "games/dominion/knowledge.py",
        "hashed = mix(hashed, i << 8 | (int(s.top[owner, i]) + 1 if knows else 0))",
        "hashed = mix(hashed, i << 8 | (int(s.top[owner, i]) + 1))",
        "games/test_dominion.py::test_only_its_owner_knows_when_cards_of_hand_and_deck_are_exchanged",
    ),
    rule_mutant(
        "dominion: known leaves out the own hand",
        "games/dominion/knowledge.py",
        "    hashed = with_zone(hashed, s.hand[seat])\n",
        "",
        "games/test_dominion.py::test_only_its_owner_knows_when_cards_of_hand_and_deck_are_exchanged",
    ),
    rule_mutant(
        "dominion: everybody sees what a seat can play",
        "games/dominion/view.py",
        "playable = int(s.can[PLAY_CARD]) if mine else 0",
        "playable = int(s.can[PLAY_CARD])",
        "games/test_dominion_view.py::test_playable_is_for_the_seat_that_decides",
    ),
    rule_mutant(
        "dominion: everybody sees what a seat remembers",
        "games/dominion/view.py",
        "show_history(s.events[opponent], s.events_count[opponent], OPPONENT_EVENTS, out)",
        "show_history(s.acted[opponent], s.acted_count[opponent], OPPONENT_EVENTS, out)",
        "games/test_dominion_view.py::test_a_card_put_on_the_deck_from_hand_has_no_slot_for_others",
    ),
    rule_mutant(
        "dominion: a seat may hold cards that it does not own",
        "games/dominion/laws.py",
        "if held < 0 or s.owned[seat, slot] != held:",
        "if held < 0:",
        "games/test_dominion.py::test_a_position_that_breaks_a_law_is_answered_with_it",
    ),
    rule_mutant(
        "dominion: everybody hears what an Artisan puts back",
        "games/dominion/text.py",
        "k >= 0 and s.job[k] == jobs.TOPDECK and not s.open[k]:",
        "k >= 0 and s.job[k] == jobs.TOPDECK and s.open[k] > 1:",
        "games/test_dominion_cards.py::test_what_artisan_and_sentry_put_back_is_news_for_nobody_else",
    ),
    rule_mutant(
        "dominion: everybody hears what a Sentry puts back",
        "games/dominion/text.py",
        "k >= 0 and s.job[k] == jobs.ORDER_LOOKED:",
        "k >= 0 and s.job[k] < 0:",
        "games/test_dominion_cards.py::test_what_artisan_and_sentry_put_back_is_news_for_nobody_else",
    ),
]

ESCAMPE = [
    rule_mutant(
        "escampe: pieces jump over others with their second step",
        "games/escampe/board.py",
        "found |= around(around(step) & empty) & ~step",
        "found |= around(around(step)) & ~step",
        "games/test_escampe.py::test_moves_met_in_play_are_those_of_the_book",
    ),
    rule_mutant(
        "escampe: a piece comes back to the cell of its first step",
        "games/escampe/board.py",
        "found |= around(around(step) & empty) & ~step",
        "found |= around(around(step) & empty)",
        "games/test_escampe.py::test_moves_met_in_play_are_those_of_the_book",
    ),
    rule_mutant(
        "escampe: a unicorn captures",
        "games/escampe/rules.py",
        "if cell == s.unicorn[side]:",
        "if cell < 0:",
        "games/test_escampe.py::test_games_of_up_to_four_plies_are_as_many_as_the_oracle_says"
        "[escampe-mid_band3]",
        "games/test_escampe.py::test_moves_met_in_play_are_those_of_the_book",
    ),
    rule_mutant(
        "escampe: the band is no part of the hash",
        "games/escampe/rules.py",
        "s.hash ^= BAND_KEY[s.band] ^ BAND_KEY[band] ^ BLACK_KEY",
        "s.hash ^= BLACK_KEY",
        "games/test_escampe.py::test_the_hash_follows_pieces_side_and_band",
    ),
    rule_mutant(
        "escampe: a pass does not lift the band",
        "games/escampe/rules.py",
        "    s.band = band\n",
        "    s.band = s.band if action == PASS else band\n",
        "games/test_escampe.py::test_after_a_pass_any_piece_may_move",
    ),
    rule_mutant(
        "escampe: White places on Black's edge",
        "games/escampe/rules.py",
        "return LOW_EDGE if black_is_low == (s.mover == BLACK) else HIGH_EDGE",
        "return LOW_EDGE if black_is_low else HIGH_EDGE",
        "games/test_escampe.py::test_white_places_on_the_edge_that_black_has_left",
    ),
    rule_mutant(
        "escampe: paladins are placed in any order",
        "games/escampe/rules.py",
        "    while free and free & -free <= last:\n        free &= free - 1\n",
        "    free &= ~last\n",
        "games/test_escampe.py::test_black_and_white_have_as_many_placements_as_the_oracle_says",
    ),
    rule_mutant(
        "escampe: the third occurrence of a position is not counted",
        "games/escampe/rules.py",
        "if occurrences == 3 or ply",
        "if occurrences == 4 or ply",
        "games/test_escampe_draws.py::test_the_third_occurrence_of_a_position_is_a_draw",
    ),
    rule_mutant(
        "escampe: the last ply is a draw though it takes the unicorn",
        "games/escampe/rules.py",
        "    if white != NOWHERE and black != NOWHERE:\n",
        "    if True:\n",
        "games/test_escampe_draws.py::"
        "test_a_game_is_drawn_after_max_plies_unless_the_unicorn_is_taken_with_the_last",
    ),
    rule_mutant(
        "escampe: nobody knows how often a position was there",
        "games/escampe/rules.py",
        "mix(s.hash, 4 * int(s.occurrences) + seat)",
        "mix(s.hash, seat)",
        "games/test_escampe_draws.py::test_a_seat_knows_how_often_the_position_was_there",
    ),
    rule_mutant(
        "escampe: a game may go on after it was drawn",
        "games/escampe/laws.py",
        "        if is_drawn(s, ply, 1 + earlier(s, ply, hashed, white, black)):\n"
        "            return True\n",
        "",
        "games/test_escampe_draws.py::test_a_game_that_was_drawn_before_its_last_move_breaks_a_law",
    ),
    rule_mutant(
        "escampe: a side may have passed that could move",
        "games/escampe/laws.py",
        "return landing_cells(mine, unicorn, band, empty, set_of(prey)) != 0",
        "return False",
        "games/test_escampe_draws.py::test_a_pass_that_was_not_forced_breaks_a_law",
    ),
    rule_mutant(
        "escampe: a view shows White's side first to both seats",
        "games/escampe/view.py",
        "show_side(s, seat, empty, view.me)",
        "show_side(s, 0, empty, view.me)",
        "games/test_escampe_view.py::"
        "test_exchanging_the_colours_and_the_side_to_move_changes_no_number",
    ),
    rule_mutant(
        "escampe: a unicorn escapes onto its own paladins",
        "games/escampe/view.py",
        "count(ends(int(s.unicorn[side]), empty) & empty)",
        "count(ends(int(s.unicorn[side]), empty))",
        "games/test_escampe_view.py::test_the_handouts_opening_has_the_printed_sums",
    ),
    rule_mutant(
        "escampe: greedy does not look at what the opponent can take",
        "games/escampe/players.py",
        "action == PASS or leaves_unicorn_to_be_taken(s, seat, action)",
        "action == PASS",
        "games/test_escampe_players.py::test_greedy_leaves_its_unicorn_to_nobody_if_it_can_help_it",
    ),
]
