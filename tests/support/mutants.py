"""Mutants: the package with one thing wrong, each of which a test must notice.

    python tests/support/mutants.py                  all of them, as a Markdown table
    python tests/support/mutants.py --only arena     those whose name or file contains a word
    python tests/support/mutants.py --sample 5       every so many, five in all
    python tests/support/mutants.py --list           what there is; nothing is run

A mutant is a copy of the package and its tests outside the working tree, with one edit. The tests
named for it run on the copy and must fail: status 1 of pytest, because a test that cannot be run
has noticed nothing. Compiled code is kept by what it was compiled from, so a copy shares that of
the package except for what the edit can change. Edits of rules are tried in the interpreter, where
nothing has to be compiled.

Games with one thing wrong are also put to `kibitz check`, by test_mutations.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SECONDS = 300  # until a mutant is given up, and counts as a survivor
SOUND_SECONDS = 1800  # for all tests without a mutant, where everything may have to be compiled
FAILED = 1  # pytest's status where a test has failed; 2 to 5 say that tests could not be run


@dataclass(frozen=True)
class Mutant:
    """What is wrong, as a sentence; the edit that makes it so; and the tests that must notice."""

    name: str
    file: str
    """In the package."""
    old: str
    """Occurs in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Node ids of pytest, below tests/."""
    interpreted: bool = False
    """Run the tests without compiling."""

    @property
    def place(self) -> str:
        return f"kibitz/{self.file}"


def mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(name, file, old, new, tests)


def rule_mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """A mutant of something compiled."""
    return Mutant(name, file, old, new, tests, interpreted=True)


CHANCE = [
    rule_mutant(
        "the purpose of a stream is not part of its key",
        "chance.py",
        "{seed} {purpose} {block}",
        "{seed} {block}",
        "ground/test_chance.py::test_no_stream_of_a_player_leads_to_a_stream_of_the_table",
    ),
    rule_mutant(
        "only 64 bits of a seed count",
        "chance.py",
        "{seed} {purpose} {block}",
        "{seed % 2**64} {purpose} {block}",
        "ground/test_chance.py::test_large_seeds_are_told_apart",
    ),
    rule_mutant(
        "streams are counted from the beginning of a block of keys",
        "chance.py",
        "begin = first % KEYS_PER_HASH",
        "begin = 0",
        "ground/test_chance.py::test_a_stream_is_one_of_its_streams",
    ),
    rule_mutant(
        "a draw does not move its stream on",
        "chance.py",
        "rng.count = np.uint64(rng.count) + ONE",
        "rng.count = np.uint64(rng.count)",
        "ground/test_chance.py::test_a_draw_is_the_first_word_of_the_next_block",
    ),
    rule_mutant(
        "a fresh seed has 16 bits",
        "chance.py",
        "secrets.randbits(63)",
        "secrets.randbits(16)",
        "ground/test_chance.py::test_a_fresh_seed_cannot_be_guessed",
    ),
    rule_mutant(
        "the highest number below n is never drawn",
        "chance.py",
        "np.int64((bits(rng) * np.uint64(n)) >> HALF)",
        "np.int64((bits(rng) * np.uint64(n - 1)) >> HALF)",
        "ground/test_chance.py::test_below_scales_the_bits",
    ),
]

CONTEST = (
    "ground/test_batch.py::test_a_contest_is_what_the_players_choose_on_redealt_copies"
    "[liars_dice-players0]"
)
BORDER = [
    rule_mutant(
        "compiled players of a match see the truth",
        "batch.py",
        "                redeal(copies[i], who, rng)\n",
        "",
        CONTEST,
    ),
    rule_mutant(
        "both compiled players of a match draw from one stream",
        "batch.py",
        "rng = own[i, side]",
        "rng = own[i, 0]",
        CONTEST,
    ),
    rule_mutant(
        "compiled players draw from the stream of the table",
        "batch.py",
        "rng = own[i, side]",
        "rng = rngs[i]",
        CONTEST,
    ),
    rule_mutant(
        "an illegal choice of a compiled player is played",
        "batch.py",
        "if not listed(action, legal, n):",
        "if action < 0:",
        "arena/test_arena.py::test_an_illegal_choice_of_a_compiled_player_stops_the_match",
    ),
    rule_mutant(
        "a batch takes any array for states",
        "batch.py",
        'if getattr(states, "dtype", None) != game.state:',
        "if False:",
        "ground/test_batch.py::test_states_of_another_game_are_refused",
    ),
    rule_mutant(
        "states from outside are not held to the laws of their game",
        "batch.py",
        "if (wrong_ones := np.flatnonzero(numbers)).size:",
        "if (wrong_ones := np.flatnonzero(numbers)).size < 0:",
        "ground/test_batch.py::test_states_from_outside_have_to_be_positions",
    ),
]

PLAYERS = [
    mutant(
        "a sight is made from the truth",
        "players/sight.py",
        "        self._tables.redeal(self.seats, self.rngs)\n",
        "",
        "arena/test_arena.py::test_the_truth_is_not_in_a_sight",
    ),
    mutant(
        "an imagined table is always the same",
        "players/sight.py",
        "        Batch.of(self.game, copies, self.rngs).redeal(self.seats, self.rngs)\n",
        "",
        "arena/test_arena.py::test_an_imagined_table_looks_the_same_to_the_seat_that_imagines_it",
    ),
    mutant(
        "illegal answers of a player are played",
        "players/sight.py",
        "if wrong.any():",
        "if wrong.size == 0:",
        "arena/test_arena.py::test_an_illegal_choice_of_a_player_stops_the_match_and_names_the_players",
    ),
    mutant(
        "what fills up the list of legal actions counts as legal",
        "players/sight.py",
        "wrong = ~((legal == chosen[:, None]) & inside).any(1)",
        "wrong = ~(legal == chosen[:, None]).any(1)",
        "arena/test_arena.py::test_what_only_fills_the_list_of_legal_actions_is_not_legal",
    ),
    mutant(
        "a player may answer with fractions",
        "players/sight.py",
        ' or chosen.dtype.kind not in "iu":',
        ":",
        "arena/test_arena.py::test_an_answer_that_is_not_a_whole_number_is_refused",
    ),
    mutant(
        "the identity of a network leaves out its weights",
        "players/networks.py",
        'f"net {weights} {how_drawn}{more}"',
        'f"net {how_drawn}{more}"',
        "arena/test_results.py::test_another_network_in_the_same_file_is_another_player",
    ),
    mutant(
        "the identity of a network leaves out how it chooses",
        "players/networks.py",
        'how_drawn = f"{mode} temperature',
        'how_drawn = f"temperature',
        "arena/test_results.py::test_players_who_play_differently_have_different_identities"
        "[champion-champion:mode=sample]",
    ),
    mutant(
        "the identity of a tree search leaves out its settings",
        "players/searching.py",
        'return f"tree search {settings} {evaluator}"',
        'return f"tree search {evaluator}"',
        "arena/test_results.py::test_players_who_play_differently_have_different_identities"
        "[mcts:sims=10-mcts:sims=11]",
    ),
    mutant(
        "the champion of a table is the one for any table",
        "players/champions.py",
        "most = max(len(card.only_for) for card in fitting)",
        "most = min(len(card.only_for) for card in fitting)",
        "train/test_train.py::test_the_champion_of_a_table_is_the_one_made_for_it",
    ),
]

ARENA = [
    mutant(
        "a match gives its players streams of the table",
        "arena/match.py",
        'streams(seed, "player",',
        'streams(seed, "table",',
        "arena/test_arena.py::test_a_match_gives_every_player_streams_of_its_own",
    ),
    mutant(
        "all players of a match share one stream per game",
        "arena/match.py",
        "own.reshape(n, len(players))",
        "own[:n].repeat(len(players)).reshape(n, len(players))",
        "arena/test_arena.py::test_a_match_gives_every_player_streams_of_its_own",
    ),
    mutant(
        "the interval is 1.8 standard errors wide",
        "arena/match.py",
        "Z95 = 1.959964",
        "Z95 = 1.8",
        "arena/test_arena.py::test_the_interval_covers_the_truth_as_often_as_it_says",
    ),
    mutant(
        "the interval is 2.12 standard errors wide",
        "arena/match.py",
        "Z95 = 1.959964",
        "Z95 = 2.12",
        "arena/test_arena.py::test_the_interval_covers_the_truth_as_often_as_it_says",
    ),
    mutant(
        "the interval is over games instead of pairs",
        "arena/match.py",
        "/ max(n - 1, 1))",
        "/ max(chunk.games - 1, 1))",
        "arena/test_arena.py::test_the_interval_covers_the_truth_as_often_as_it_says",
    ),
    mutant(
        "a clean sweep has no interval",
        "arena/match.py",
        "if error > 0 and chunk.games > n:",
        "if error >= 0 and chunk.games > n:",
        "arena/test_arena.py::test_a_clean_sweep_still_has_an_interval",
    ),
    mutant(
        "the seats of a match are not exchanged",
        "arena/match.py",
        "tuple(np.roll(line_up, r)) for r",
        "tuple(np.roll(line_up, 0)) for r",
        "arena/test_arena.py::test_a_player_draws_level_with_itself_on_the_same_deals",
    ),
    mutant(
        "the same rotation is played twice",
        "arena/match.py",
        "list(dict.fromkeys(rotations))",
        "rotations",
        "arena/test_teams.py::test_only_distinct_rotations_are_played",
    ),
    mutant(
        "partners are dealt to different players",
        "arena/match.py",
        "who = owners[:, game.teams]",
        "who = owners[:, np.arange(game.seats) // 2]",
        "arena/test_teams.py::test_a_player_has_both_seats_of_its_team",
    ),
    mutant(
        "partners may score differently",
        "contract/rules.py",
        "if scores[seat] != scores[game.captains[team]]:",
        "if scores[seat] > scores[game.captains[team]] + 9:",
        "arena/test_teams.py::test_partners_who_score_differently_break_the_promise",
    ),
    mutant(
        "a shared first place is a whole win",
        "arena/match.py",
        "wins = best / best.sum(1, keepdims=True)",
        "wins = best.astype(np.float64)",
        "arena/test_teams.py::test_a_shared_first_place_is_divided",
    ),
    mutant(
        "luck with one team of three counts as weakness",
        "arena/match.py",
        "return won / (won + lost)",
        "return self.win_rate",
        "arena/test_teams.py::test_luck_alone_is_worth_no_elo_however_many_teams_there_are",
    ),
    mutant(
        "teams may have any numbers",
        "game.py",
        "if set(given) != set(range(len(set(given)))):",
        "if len(set(given)) > seats:",
        "arena/test_teams.py::test_teams_that_make_no_sense_are_refused_in_a_sentence",
    ),
    mutant(
        "a draw counts as a win for the second player",
        "arena/match.py",
        "best = by_team == by_team.max(1, keepdims=True)",
        "best = np.eye(by_team.shape[1])[by_team[:, ::-1].argmax(1)][:, ::-1]",
        "arena/test_arena.py::test_a_draw_is_half_a_win_for_both",
    ),
    mutant(
        "merged chunks lose the squares of one",
        "arena/match.py",
        '{"teams": self.teams}',
        '{"teams": self.teams, "win_squares": self.win_squares}',
        "arena/test_arena.py::test_a_match_is_the_sum_of_its_chunks_whatever_their_size",
    ),
    mutant(
        "every chunk of a match plays the same deals",
        "arena/match.py",
        'streams(seed, "table", groups, first)',
        'streams(seed, "table", groups)',
        "arena/test_arena.py::test_a_match_is_the_sum_of_its_chunks_whatever_their_size",
    ),
    mutant(
        "the loser of a round does not change seats",
        "arena/match.py",
        "origin[i] = origin[i][list(after[1])]",
        "origin[i] = origin[i]",
        "arena/test_arena.py::test_a_match_in_rounds_is_won_by_who_wins_rounds",
    ),
    mutant(
        "Elo is lower for who wins more",
        "arena/match.py",
        "math.log10(rate / (1.0 - rate))",
        "math.log10((1.0 - rate) / rate)",
        "arena/test_arena.py::test_elo_of_a_rate",
    ),
    mutant(
        "chunks that are kept are played again",
        "arena/match.py",
        "chunk = kept.get(span)",
        "chunk = None",
        "arena/test_results.py::test_a_saved_match_equals_a_match_and_is_not_played_twice",
    ),
    mutant(
        "a table gives its players its own stream",
        "arena/table.py",
        'stream(seed, "player", index)',
        'stream(seed, "table", index)',
        "arena/test_arena.py::test_a_table_gives_its_players_a_stream_that_no_table_has",
    ),
    mutant(
        "a replayed table gives its players its own stream",
        "arena/table.py",
        'stream(table.seed, "player", table.index)',
        'stream(table.seed, "table", table.index)',
        "arena/test_arena.py::test_a_replayed_table_gives_its_players_a_stream_that_no_table_has",
    ),
    mutant(
        "a replayed table draws from the beginning of its stream",
        "arena/table.py",
        "        table._draw()  # who has edited the record decides what it was\n",
        "        pass\n",
        "arena/test_arena.py::test_a_table_resumed_from_its_record_deals_what_it_would_have_dealt",
    ),
    mutant(
        "a table forgets that its player has drawn",
        "arena/table.py",
        "        self._player_rngs = sight.rngs\n",
        "",
        "arena/test_arena.py::test_the_truth_is_not_in_a_sight",
    ),
    mutant(
        "a table plays what is not legal",
        "arena/table.py",
        "or number not in self.actions:",
        "or number < 0:",
        "arena/test_arena.py::test_an_illegal_action_is_refused_with_what_was_possible_and_nothing_is_lost",
    ),
    mutant(
        "a record under other rules is replayed",
        "arena/table.py",
        'if header["fingerprint"] != game.fingerprint:',
        'if not header["fingerprint"]:',
        "arena/test_arena.py::test_a_spoilt_record_is_refused_in_a_sentence",
    ),
    mutant(
        "ratings count wins for the loser",
        "arena/rating.py",
        "wins = {a: points.get((a, b), 0.0), b: points.get((b, a), 0.0)}",
        "wins = {b: points.get((a, b), 0.0), a: points.get((b, a), 0.0)}",
        "arena/test_results.py::test_ratings_put_players_where_their_results_say",
    ),
    mutant(
        "results under other rules are rated together",
        "arena/rating.py",
        'tallies.setdefault((f"{saved.game} {saved.options}", saved.fingerprint), {})',
        'tallies.setdefault((f"{saved.game} {saved.options}", ""), {})',
        "arena/test_results.py::test_results_under_other_rules_are_rated_apart",
    ),
    mutant(
        "who reads results can write to their file",
        "arena/results.py",
        'with _connected(path, "ro") as db:',
        'with _connected(path, "rw") as db:',
        "arena/test_results.py::test_a_write_that_was_interrupted_is_mended_by_the_next_save_alone",
    ),
    mutant(
        "a shorter chunk takes the place of a longer one",
        "arena/results.py",
        '                "where excluded.groups >= chunks.groups",\n',
        '                "",\n',
        "arena/test_results.py::test_a_longer_match_counts_no_game_twice",
    ),
    mutant(
        "a saved match goes on with the oldest seed",
        "arena/results.py",
        "order by id desc limit 1",
        "order by id limit 1",
        "arena/test_results.py::test_without_a_seed_a_saved_match_goes_on_with_the_newest_of_its_own",
    ),
    mutant(
        "the responder learns nothing from a raise",
        "arena/local_response.py",
        "deal.belief = answer[:, raised] / answer[:, raised].sum()",
        "deal.belief = self.others",
        "arena/test_local_response.py::test_the_bound_is_what_the_responder_wins_with_real_hands",
    ),
    mutant(
        "the responder counts games that were called as if they went on",
        "arena/local_response.py",
        "                deal.weight *= likely\n",
        "",
        "arena/test_local_response.py::test_the_bound_is_what_the_responder_wins_with_real_hands",
    ),
    mutant(
        "a player that throws dice is looked through",
        "arena/exploitability.py",
        "if (chosen != again).any():",
        "if chosen.shape != again.shape:",
        "arena/test_exploitability.py::test_who_throws_dice_cannot_be_looked_through",
    ),
]

TRAIN = [
    mutant(
        "self-play searches with the streams of its tables",
        "train/tree_search/selfplay.py",
        'streams(seed, "search",',
        'streams(seed, "table",',
        "train/test_train.py::test_self_play_searches_with_streams_that_no_table_has",
    ),
    mutant(
        "all positions of self-play get the score of seat 0",
        "train/tree_search/selfplay.py",
        "scores[lanes, positions.seats]",
        "scores[lanes, 0]",
        "train/test_train.py::test_the_learner_fits_a_batch",
    ),
    mutant(
        "checksums are not verified",
        "train/folder.py",
        "if found != checksum(metadata, arrays):",
        "if not checksum(metadata, arrays):",
        "train/test_train.py::test_a_file_of_arrays_with_one_changed_bit_is_refused",
    ),
    mutant(
        "what killed saves have left stays",
        "train/folder.py",
        "                    file.unlink()\n",
        "                    continue\n",
        "train/test_train.py::test_a_lock_removes_what_a_killed_save_has_left",
    ),
    mutant(
        "a run is resumed with another seed",
        "train/folder.py",
        'for key in ("seed", "start"):',
        'for key in ("start",):',
        "train/test_train.py::test_a_run_is_not_resumed_with_another_seed",
    ),
    mutant(
        "a missing shard is passed over in silence",
        "train/replay.py",
        "                problems[path] = error\n",
        "                continue\n",
        "train/test_train.py::test_a_replay_names_the_shards_that_it_could_not_load",
    ),
    mutant(
        "the states of a shard are not checked",
        "train/replay.py",
        "        check_states(game, positions, path)\n",
        "",
        "train/test_train.py::test_a_shard_of_impossible_states_is_refused",
    ),
    mutant(
        "a shard need not be the one that the checkpoint lists",
        "train/replay.py",
        "            check_same(path, stored.sha256, listed)\n",
        "            pass\n",
        "train/test_resume.py::test_a_shard_that_is_not_the_listed_one_is_refused",
    ),
    mutant(
        "the replay forgets nothing",
        "train/replay.py",
        "while sum(map(len, self.shards[1:])) >= self.size:",
        "while not self.shards:",
        "train/test_train.py::test_the_replay_forgets_whole_shards_once_the_newer_ones_fill_it",
    ),
    mutant(
        "the average keeps the wrong share of its weights",
        "train/weights.py",
        "list(net.parameters()), 1 - kept)",
        "list(net.parameters()), kept)",
        "train/test_train.py::test_the_average_keeps_the_given_share_of_its_weights",
    ),
    mutant(
        "the policy loss is over illegal actions, too",
        "train/tree_search/learner.py",
        ".masked_fill(~legal, -1e9)",
        "",
        "train/test_train.py::test_losses_are_about_legal_actions_and_the_score_of_the_seat_itself",
    ),
    mutant(
        "the value is learnt with the wrong sign",
        "train/tree_search/learner.py",
        "self._put((1 - share) * positions.score + share * positions.value)",
        "-self._put((1 - share) * positions.score + share * positions.value)",
        "train/test_train.py::test_losses_are_about_legal_actions_and_the_score_of_the_seat_itself",
    ),
    mutant(
        "every player passes the gate",
        "train/run.py",
        '"passed": rate >= recipe.gate_rate}',
        '"passed": True}',
        "train/test_train.py::test_a_player_passes_the_gate_with_the_even_rate_that_the_recipe_asks_for",
    ),
    mutant(
        "a refilled run does not say so",
        "train/run.py",
        "            self.standing.refilled = True\n",
        "",
        "train/test_resume.py::test_refilling_continues_from_the_newest_intact_checkpoint",
    ),
    mutant(
        "seeds for two purposes are the same",
        "train/seeds.py",
        'f"{seed} {purpose} {step}"',
        'f"{seed} {step}"',
        "train/test_starting.py::test_derived_seeds_differ_by_seed_purpose_and_step",
    ),
    mutant(
        "the league counts wins for the loser",
        "train/league.py",
        "(member, against, rate * games), (against, member, (1.0 - rate) * games)",
        "(against, member, rate * games), (member, against, (1.0 - rate) * games)",
        "train/test_train.py::test_elo_is_measured_from_the_untrained_player",
    ),
]

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

DOORS = [
    rule_mutant(
        "the terminal shows what others do, not what the person may hear of it",
        "terminal.py",
        "escape(table.events[before].news[mine])",
        "escape(table.events[before].text)",
        "cli/test_cli.py::test_what_somebody_puts_back_is_not_shown_to_the_person",
    ),
    mutant(
        "OpenSpiel: others are told the action and not the news of it",
        "adapters/open_spiel.py",
        "rules.news_text(s, seat, action)",
        "rules.action_text(s, action)",
        "adapters/test_open_spiel.py::test_a_seat_is_not_told_what_another_puts_on_its_deck_unseen",
    ),
    mutant(
        "OpenSpiel: a resampled table is the true one",
        "adapters/open_spiel.py",
        "rules.redeal(twin.s, int(player), chance",
        "rules.redeal(rules.copy(twin.s), int(player), chance",
        "adapters/test_open_spiel.py::test_a_resampled_table_has_every_hand_that_the_seat_thinks_possible",
    ),
]

FAULT = "contract/test_faults.py::test_a_fault_is_named_within_seconds_and_nobody_waits_in_silence"

CONTRACT = [
    mutant(
        "what a seat knows may return to what it was",
        "contract/history.py",
        "            if before is not s:",
        "            if before is None:",
        f"{FAULT}[play_goes_in_circles]",
    ),
    mutant(
        "a re-deal may contradict what was heard",
        "contract/history.py",
        "if t.tobytes() not in worlds and _names(trial, t) not in named:",
        "if not worlds:",
        f"{FAULT}[redeal_against_public_knowledge]",
    ),
    mutant(
        "half a re-deal is enough",
        "contract/hidden.py",
        "        _check_every_secret(trial, seat, changed)\n",
        "",
        f"{FAULT}[redeal_does_half]",
    ),
    mutant(
        "nobody ends a rule that does not return",
        "contract/watch.py",
        "if call and seconds > PATIENCE:",
        "if call and seconds > 1000 * PATIENCE:",
        f"{FAULT}[a_rule_never_ends]",
    ),
    mutant(
        "lists in rules are not read",
        "contract/sources.py",
        '    ast.List: "a list",\n',
        "",
        f"{FAULT}[list_in_a_rule]",
    ),
    mutant(
        "an error is told with the last line of any file",
        "contract/sources.py",
        "    ours = [line for line in lines if is_of_a_game(line[0])]",
        "    ours = lines",
        f"{FAULT}[typo_in_a_field]",
    ),
    mutant(
        "only the default options are tried",
        "contract/cases.py",
        "    return [{}, *presets, *(edges(game.options) if game.tried is None else game.tried)]",
        "    return [{}]",
        f"{FAULT}[wrong_with_other_options]",
    ),
    mutant(
        "nobody hears what a check is waiting for",
        "cli/contract.py",
        "SILENCE = 2.0",
        "SILENCE = 200.0",
        f"{FAULT}[a_rule_never_ends]",
    ),
    mutant(
        "a quick check says that promises are kept, without saying how little was tried",
        "cli/contract.py",
        'f" so far, in {QUICK_GAMES} games" if quick else',
        '"" if quick else',
        "contract/test_faults.py::test_a_quick_check_never_says_that_all_promises_are_kept",
    ),
]

MUTANTS = [
    *CHANCE,
    *BORDER,
    *PLAYERS,
    *ARENA,
    *TRAIN,
    *SMALL_GAMES,
    *BEASTY_BAR,
    *DOMINION,
    *DOORS,
    *CONTRACT,
]


# Running them ------------------------------------------------------------------------------------


@contextmanager
def copied(edited: Mutant | None = None) -> Iterator[Path]:
    """A folder with the package and its tests, with one edit where a mutant is given."""
    with tempfile.TemporaryDirectory(prefix="kibitz-mutant-") as name:
        folder = Path(name)
        left_out = shutil.ignore_patterns("__pycache__", "champions")
        for part in ("kibitz", "tests", "docs"):
            shutil.copytree(ROOT / part, folder / part, ignore=left_out)
        (folder / "kibitz/champions").symlink_to(ROOT / "kibitz/champions")  # large, never edited
        shutil.copy(ROOT / "pyproject.toml", folder)
        if edited is not None:
            path = folder / edited.place
            source = path.read_text(encoding="utf-8")
            assert source.count(edited.old) == 1, f"{edited.place}: {edited.old!r}"
            path.write_text(source.replace(edited.old, edited.new), encoding="utf-8")
        yield folder


def run_tests(
    folder: Path, tests: Sequence[str], *, interpreted: bool, seconds: int = SECONDS
) -> tuple[int, str]:
    """The status of pytest and what it has printed."""
    settings = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rf"]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"NUMBA_DISABLE_JIT": "1"} if interpreted else {}
    command = [sys.executable, "-m", "pytest", *settings, *(f"tests/{test}" for test in tests)]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds
    )
    return done.returncode, done.stdout + done.stderr


def killer(edited: Mutant) -> str:
    """The test that has noticed a mutant; empty if none has."""
    with copied(edited) as folder:
        try:
            status, output = run_tests(folder, edited.tests, interpreted=edited.interpreted)
        except subprocess.TimeoutExpired:
            return ""
    failed = re.search(r"^FAILED tests/\S+?::(\w+)", output, re.MULTILINE)
    return failed[1] if status == FAILED and failed else ""


def check_sound(mutants: Sequence[Mutant]) -> None:
    """See that the tests of these mutants pass where nothing is wrong, and that they try a copy."""
    with copied() as folder:
        for interpreted in (False, True):
            tests = {t: None for m in mutants if m.interpreted == interpreted for t in m.tests}
            if tests:
                status, output = run_tests(
                    folder, [*tests], interpreted=interpreted, seconds=SOUND_SECONDS
                )
                assert status == 0, f"without a mutant:\n{output}"
        code = "import kibitz; print(kibitz.__file__)"
        env = {**os.environ, "PYTHONPATH": str(folder)}
        where = subprocess.check_output(
            [sys.executable, "-c", code], cwd=folder, env=env, text=True
        )
        assert where.startswith(str(folder)), f"tests import {where}"


def chosen(mutants: Sequence[Mutant], word: str, sample: int) -> list[Mutant]:
    """Those with a word in their name or file; of these every so many, if there are too many."""
    found = [m for m in mutants if word.lower() in f"{m.name} {m.place}".lower()]
    if not 0 < sample < len(found):
        return found
    return [found[len(found) * k // sample] for k in range(sample)]


def main() -> int:
    options = argparse.ArgumentParser(description="Run mutants of the package against its tests.")
    options.add_argument("--only", default="", metavar="WORD", help="in the name or the file")
    options.add_argument("--sample", type=int, default=0, metavar="N", help="so many of them")
    options.add_argument("--list", action="store_true", help="run nothing")
    asked = options.parse_args()
    mutants = chosen(MUTANTS, asked.only, asked.sample)
    if asked.list:
        print("\n".join(f"{m.place}: {m.name}" for m in mutants))
        return 0
    check_sound(mutants)
    began, survivors = time.monotonic(), 0
    print("| mutant | file | killed by |\n|---|---|---|", flush=True)
    for each in mutants:
        noticed = killer(each)
        survivors += not noticed
        print(f"| {each.name} | {each.place} | {noticed or '**nobody**'} |", flush=True)
    seconds = time.monotonic() - began
    print(f"\n{len(mutants)} mutants, {survivors} survivors, {seconds:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
