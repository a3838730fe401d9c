"""Where players meet: tables, matches and ratings."""
