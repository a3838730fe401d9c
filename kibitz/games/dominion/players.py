"""The strategies that come with the game, see `strategies` for their language."""

from __future__ import annotations

from .strategies import strategy
from .themes import THEMES

_PROVINCE = ["Province", "M>18"]
_LAST_POINTS = (["Duchy", "P<=4"], ["Estate", "P<=2"])
_BIG_MONEY = (*_LAST_POINTS, ["Gold"], ["Duchy", "P<=6"])

STRATEGIES = {
    # The best theme that the kingdom has all cards for. In 20,000 games on random kingdoms it won
    # 60.3 % against bme and 83.8 % against bmu.
    "themes": THEMES,
    # Evolved from bmx: 4,532 mutations were tried, and kept if they won against their parent over
    # random kingdoms. In 40,000 other games it won 82.5 % against bmu and 56.3 % against bmx.
    "bme": strategy(
        {
            "buy": [
                ["Witch", "own:Witch<2", "P>3"],
                ["Province", "M>16"],
                ["Duchy", "P<=5"],
                ["Bandit", "own:Bandit<1", "turn<=5"],
                ["Estate", "P<=3"],
                ["Gold"],
                ["Duchy", "P<=6"],
                ["Laboratory", "own:Laboratory<2", "own:Witch>=1"],
                ["Council Room", "own:Council Room<1"],
                ["Market", "own:Market<3", "own:Smithy>=1"],
                ["Library", "own:Library<1"],
                ["Market"],
                ["Festival", "own:Festival<2", "own:Smithy>=1"],
                ["Militia", "own:Militia<1"],
                ["Smithy", "own:Smithy<4", "turn<=2"],
                ["Laboratory"],
                ["Silver"],
            ],
            "play": [
                *("Laboratory", "Festival", "Market", "Witch", "Council Room", "Smithy"),
                *("Library", "Bandit", "Militia"),
            ],
        }
    ),
    # Big money and what the kingdom has of a few good cards. Over 1,000 random kingdoms it
    # won 79 % against bmu and 73 % against smithy1.
    "bmx": strategy(
        {
            "buy": [
                _PROVINCE,
                ["Witch", "own:Witch<2", "P>5"],
                *_BIG_MONEY,
                ["Laboratory"],
                ["Market"],
                ["Council Room", "own:Council Room<1"],
                ["Smithy", "own:Smithy<1"],
                ["Militia", "own:Militia<1"],
                ["Silver"],
            ],
            "play": ["Laboratory", "Market", "Witch", "Council Room", "Smithy", "Militia"],
        }
    ),
    "smithy1": strategy(
        {
            "buy": [_PROVINCE, *_BIG_MONEY, ["Smithy", "own:Smithy<1"], ["Silver"]],
            "play": ["Smithy"],
        }
    ),
    "witch2": strategy(
        {
            "buy": [_PROVINCE, ["Witch", "own:Witch<2", "P>5"], *_BIG_MONEY, ["Silver"]],
            "play": ["Witch"],
        }
    ),
    "militia1": strategy(
        {
            "buy": [_PROVINCE, *_BIG_MONEY, ["Militia", "own:Militia<1"], ["Silver"]],
            "play": ["Militia"],
        }
    ),
    # Six that show how decks with all other cards do. Over 2,000 pairs of games on random kingdoms
    # they won, in this order, 71, 52, 52, 66, 51 and 31 % against bmu.
    "chapel1": strategy(
        {
            "buy": [
                ["Province"],
                ["Witch", "own:Witch<1", "P>5"],
                *_LAST_POINTS,
                ["Gold"],
                ["Chapel", "own:Chapel<1", "turn<=2"],
                ["Laboratory"],
                ["Market"],
                ["Festival", "own:Festival<2"],
                ["Council Room", "own:Council Room<1"],
                ["Smithy", "own:Smithy<1"],
                ["Militia", "own:Militia<1"],
                ["Silver"],
            ],
            "play": [
                *("Laboratory", "Market", "Festival", "Chapel"),
                *("Witch", "Council Room", "Smithy", "Militia"),
            ],
        }
    ),
    "engine": strategy(
        {
            "buy": [
                ["Province", "M>9"],
                *_LAST_POINTS,
                ["Chapel", "own:Chapel<1", "turn<=2"],
                ["Gold", "own:Gold<2"],
                ["Laboratory"],
                ["Festival", "own:Festival<3"],
                ["Market"],
                ["Council Room", "own:Council Room<=own:Village"],
                ["Smithy", "own:Smithy<=own:Village"],
                ["Militia", "own:Militia<1"],
                ["Village", "own:Village<=own:Smithy"],
                ["Village", "own:Village<own:Council Room"],
                ["Gold"],
                ["Silver"],
            ],
            "play": [
                *("Village", "Festival", "Laboratory", "Market"),
                *("Chapel", "Smithy", "Council Room", "Militia"),
            ],
        }
    ),
    "fives": strategy(
        {
            "buy": [
                _PROVINCE,
                *_BIG_MONEY,
                ["Artisan", "own:Artisan<1"],
                ["Sentry", "own:Sentry<2"],
                ["Laboratory"],
                ["Market"],
                ["Bandit", "own:Bandit<1"],
                ["Library", "own:Library<1"],
                ["Festival", "own:Festival<2"],
                ["Mine", "own:Mine<1"],
                ["Silver"],
            ],
            "play": [
                *("Laboratory", "Market", "Sentry", "Festival"),
                *("Bandit", "Artisan", "Mine", "Library"),
            ],
        }
    ),
    "fours": strategy(
        {
            "buy": [
                _PROVINCE,
                *_BIG_MONEY,
                ["Witch", "own:Witch<1", "P>5"],
                ["Laboratory"],
                ["Market"],
                ["Throne Room", "own:Throne Room<1", "own:Witch>0"],
                ["Moneylender", "own:Moneylender<1", "P>6"],
                ["Poacher", "own:Poacher<2"],
                ["Remodel", "own:Remodel<1", "own:Gold>0"],
                ["Bureaucrat", "own:Bureaucrat<1"],
                ["Silver"],
            ],
            "play": [
                *("Throne Room", "Laboratory", "Market", "Poacher"),
                *("Witch", "Moneylender", "Bureaucrat", "Remodel"),
            ],
        }
    ),
    "threes": strategy(
        {
            "buy": [
                _PROVINCE,
                *_BIG_MONEY,
                ["Laboratory"],
                ["Market"],
                ["Smithy", "own:Smithy<1"],
                ["Merchant", "own:Merchant<2", "own:Silver>1"],
                ["Village", "own:Village<1", "own:Smithy>0"],
                ["Harbinger", "own:Harbinger<1"],
                ["Vassal", "own:Vassal<1"],
                ["Silver"],
                ["Cellar", "own:Cellar<1"],
                ["Moat", "own:Moat<1"],
            ],
            "play": [
                *("Village", "Laboratory", "Market", "Harbinger", "Merchant"),
                *("Cellar", "Smithy", "Vassal", "Moat"),
            ],
        }
    ),
    "gardens": strategy(
        {
            "buy": [
                ["Province", "own:Gardens<1"],
                ["Gardens", "own:Workshop>1"],
                ["Workshop", "own:Workshop<3", "supply:Gardens>0"],
                ["Gardens"],
                *_BIG_MONEY,
                ["Silver"],
                ["Estate", "own:Gardens>2"],
                ["Copper", "own:Gardens>3"],
            ],
            "play": ["Workshop"],
        }
    ),
    "bmu": strategy({"buy": [_PROVINCE, *_BIG_MONEY, ["Silver"]], "play": []}),
    "bm0": strategy({"buy": [["Province"], ["Gold"], ["Silver"]], "play": []}),
    "greedy": strategy({"buy": [["Province"], ["Duchy"], ["Estate"]], "play": []}),
}
