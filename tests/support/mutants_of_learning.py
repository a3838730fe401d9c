"""Mutants of training, of the doors and of the contract."""

from __future__ import annotations

from mutant import mutant, rule_mutant

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
        "_numbers(net), 1 - kept)",
        "_numbers(net), kept)",
        "train/test_train.py::test_the_average_keeps_the_given_share_of_its_weights",
    ),
    mutant(
        "the average leaves out the statistics of batch normalisation",
        "train/weights.py",
        "return [*net.parameters(), *statistics]",
        "return [*net.parameters()]",
        "train/test_train.py::test_the_average_has_the_statistics_of_batch_normalisation",
    ),
    mutant(
        "a position may be on both sides of a split",
        "train/labelled/split.py",
        "training = ~validation & ~seen[names]",
        "training = ~validation",
        "train/test_labelled_data.py::"
        "test_a_position_that_a_held_back_game_shares_is_dropped_from_training",
    ),
    mutant(
        "all calls play the same games",
        "train/labelled/generate.py",
        '"training", GAMES_PER_CALL, first)',
        '"training", GAMES_PER_CALL, 0)',
        "train/test_labelled_data.py::test_there_are_as_many_positions_as_asked_for",
    ),
    mutant(
        "a label is mixed with the result of a game that was stopped",
        "train/labelled/labels.py",
        "share = np.where(rows.decided, self.search_share, 1.0)",
        "share = self.search_share",
        "train/test_labelled_data.py::test_a_label_mixes_search_and_result_where_there_is_one",
    ),
    mutant(
        "a missing field is taken for nothing",
        "train/labelled/files.py",
        'raise DataError(f"{name} is missing")',
        "return 0",
        "train/test_labelled_data.py::"
        "test_a_bad_record_is_refused_with_file_line_and_sentence[a missing field]",
    ),
    mutant(
        "the learning rate never rises again",
        "train/labelled/learning.py",
        "(self.step / self.steps_per_epoch) % restart / restart",
        "min(self.step / self.steps_per_epoch / restart, 1.0)",
        "train/test_labelled_training.py::"
        "test_the_learning_rate_is_that_of_cosine_annealing_with_warm_restarts",
    ),
    mutant(
        "every network passes the gate of validation",
        "train/run.py",
        "passed = best is None or loss < best",
        "passed = best is None or loss < 2 * best",
        "train/test_labelled_training.py::test_a_higher_validation_loss_does_not_pass_the_gate",
    ),
    mutant(
        "batch normalisation is folded in float32",
        "nets/dual_view.py",
        "weight = layer.weight.double() * scale.reshape",
        "weight = layer.weight * scale.float().reshape",
        "nets/test_dual_view.py::test_folding_is_done_in_float64",
    ),
    mutant(
        "a network fits views of another encoding",
        "nets/kinds.py",
        'sizes(game) | {"encoding": encoding_of(game.viewed)}',
        "sizes(game)",
        "nets/test_dual_view.py::test_a_view_of_another_encoding_does_not_fit_though_its_sizes_do",
    ),
    mutant(
        "a weight file is not tested",
        "portable/evaluation.py",
        "if not is_close(",
        "if False and not is_close(",
        "adapters/test_banddper_files.py::test_a_changed_weight_fails_the_self_test",
    ),
    mutant(
        "a path visits a cell twice",
        "portable/escampe.py",
        "if not inside or passed >> to & 1:",
        "if not inside:",
        "portable/test_escampe_positions.py::test_the_paths_are_as_many_as_the_specification_counts",
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

FAULT = "contract/test_faults.py::test_a_fault_is_named"

CONTRACT = [
    mutant(
        "what a seat knows may return to what it was",
        "contract/history.py",
        "            if before is not s and not (repeats and before.tobytes() == s.tobytes()):",
        "            if before is None:",
        f"{FAULT}[play_goes_in_circles]",
    ),
    mutant(
        "where positions may repeat, what a seat knows may stay though the position changes",
        "contract/history.py",
        "if before is not s and not (repeats and before.tobytes() == s.tobytes()):",
        "if before is not s and not repeats:",
        "games/test_escampe_draws.py::"
        "test_where_positions_may_repeat_only_true_repetitions_are_accepted",
    ),
    mutant(
        "where case matters, upper case may be read as another position",
        "contract/rules.py",
        "    if trial.game.case_matters:\n",
        "    if trial.game.case_matters:\n        return []\n    if trial.game.case_matters:\n",
        "contract/test_reading.py::"
        "test_where_case_matters_upper_case_is_never_read_as_another_position",
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
