"""Folders as model hubs expect them: weights in several formats, and a card that describes them.

`write_folder` makes one of a checkpoint; what is known about its training comes from the checkpoint
itself, from the run's folder around it, and from the card of a champion beside it. `read_folder`
makes a checkpoint of such a folder.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from torch import nn

from .. import __version__
from ..game import Game
from ..nets import About, Net, NetError, kind_of, load_net, write
from ..nets.dual_view import DualViewNet
from ..train.cards import (
    CARD,
    LICENCE,
    UNKNOWN,
    cell,
    code,
    facts_table,
    fenced,
    slug,
    table,
    yaml,
)
from ..train.folder import RunFolder
from .banddper_files import save_json, save_pth
from .exchange import changed_options, export_net, game_of, import_net, player_text

WEIGHTS = "model.safetensors"
FORMATS = {  # in the order in which a folder is read: those that learning can continue from first
    WEIGHTS: "weights, configuration and game; the file that kibitz plays with",
    "banddper.pth": "configuration and weights for torch; learning can continue",
    "banddper_weights.json": "folded weights and a self-test, for runtimes without torch",
    "model.onnx": "for ONNX runtimes, batches of any size",
}
CURVES = {  # by their names in the folder of a run
    "curves.png": "training_curves.png",
    "curves.csv": "training_curves.csv",
}
DESCRIBED = {
    **FORMATS,
    "training_curves.png": "the run as a picture",
    "training_curves.csv": "the run as a table",
}
HIDDEN = ("game", "options", "fingerprint", "datasets", "licence")  # shown elsewhere, or nowhere
FROM_CARD = ("recipe", "command", "device", "seconds", "evaluated")

Facts = dict[str, object]
"""What a table shows: figures and texts by name."""


# Folders ------------------------------------------------------------------------------------------


def write_folder(path: str | Path, folder: str | Path) -> list[str]:
    """Write the model folder of a checkpoint. Returns remarks on what it does not have."""
    path, folder = Path(path), Path(folder)
    net, about = load_net(path)
    game = game_of(path, about)
    files = {WEIGHTS: path.read_bytes()}
    for theirs, ours in CURVES.items():
        if (path.parent / theirs).is_file():
            files[ours] = (path.parent / theirs).read_bytes()
    _prepare(folder)
    for name, contents in files.items():
        write(folder / name, contents)
    remarks = _write_other_formats(folder, net)
    written = [name for name in DESCRIBED if (folder / name).is_file()]
    write(folder / CARD, model_card(net, game, about, path, written).encode())
    return remarks


def _prepare(folder: Path) -> None:
    """Make a folder, or take what an earlier export has written out of it."""
    if folder.is_file():
        raise NetError(f"{folder} is a file, not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / WEIGHTS).is_file():
        raise NetError(f"{folder} is not empty, and it is not a model folder; choose another one")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (CARD, *FORMATS, *CURVES.values()):
        (folder / name).unlink(missing_ok=True)


def _write_other_formats(folder: Path, net: Net) -> list[str]:
    """The formats besides safetensors that this kind of network has."""
    if isinstance(net, DualViewNet):
        save_pth(folder / "banddper.pth", net)
        save_json(folder / "banddper_weights.json", net)
        return []
    try:
        export_net(folder / WEIGHTS, folder / "model.onnx", batched=True)
    except (NetError, ImportError) as error:
        return [f"There is no model.onnx: {error}"]
    return []


def read_folder(folder: str | Path, out: str | Path) -> Game | None:
    """Write the network of a model folder as a checkpoint, and return the game that it plays.

    None if the rules of that game are outside the package.
    """
    folder = Path(folder)
    file = next((folder / name for name in FORMATS if (folder / name).is_file()), None)
    if file is None:
        raise NetError(f"{folder} holds no network: it has none of {', '.join(FORMATS)}")
    if file.name != WEIGHTS:
        return import_net(file, out)
    _, about = load_net(file)
    game = game_of(file, about)
    write(out, file.read_bytes())
    return game


# The card of a network ----------------------------------------------------------------------------


def model_card(net: Net, game: Game, about: About, path: Path, files: Sequence[str]) -> str:
    """The README of a model folder with these files, for a network that came from `path`."""
    card, kind = _card_beside(path), kind_of(net)
    assert kind is not None  # it was loaded from a file
    parameters = sum(weights.numel() for weights in net.parameters())
    header: dict[str, object] = {
        "license": _licence(about),
        "library_name": "kibitz",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["kibitz", "tabletop-games", slug(game.name), slug(kind.name)],
        "datasets": _texts(about.get("datasets")),
    }
    parts = [
        f"{yaml(header)}\n# {game.name}: a network of kibitz",
        f"A network of the kind `{kind.name}` with {parameters:,} parameters.",
        f"## Use\n\n{code(loading_lines(net, game, card))}",
        f"## Files\n\n{table(('file', 'holds'), [(f'`{n}`', DESCRIBED[n]) for n in files])}",
        f"## Architecture\n\n{table(('part', 'layer', 'parameters'), layers(net))}",
        f"### Configuration\n\n{facts_table(dataclasses.asdict(net.config))}",
        f"## Training\n\n{facts_table(training_facts(about, path, card)) or UNKNOWN}",
        "![curves of the run](training_curves.png)" if "training_curves.png" in files else "",
        _report_part(path.parent / "report.txt"),
        _matches_part(card),
        _limits_part(game, about),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def loading_lines(net: Net, game: Game, card: Mapping[str, object]) -> list[str]:
    """Python that loads the network and asks it for a move."""
    players = card.get("players")
    texts = _texts([*players.values()] if isinstance(players, dict) else [])
    text = texts[0].replace("{file}", WEIGHTS) if texts else player_text(net, game, WEIGHTS)
    options = "".join(f", {name}={value!r}" for name, value in changed_options(game))
    return [
        "import kibitz",
        "from kibitz.nets import load_net",
        f'net, about = load_net("{WEIGHTS}")  # a module of torch',
        f"game = kibitz.load({json.dumps(game.name)}{options})",
        f"player = kibitz.player({json.dumps(text)}, game)",
        "print(kibitz.table(game, seed=1).ask(player))",
    ]


def layers(net: nn.Module) -> Iterator[tuple[str, str, str]]:
    """The parts of a network and, where a part consists of others, those: name, layer, size."""
    for name, weights in net.named_parameters(recurse=False):
        yield name, f"parameter {[*weights.shape]}", f"{weights.numel():,}"
    for name, part in net.named_children():
        inner = {f"{name}.{key}": child for key, child in part.named_children()} or {name: part}
        for key, child in inner.items():
            layer, size = str(child), sum(weights.numel() for weights in child.parameters())
            if size:
                yield key, type(child).__name__ if "\n" in layer else layer, f"{size:,}"


def training_facts(about: About, path: Path, card: Mapping[str, object]) -> Facts:
    """What is known about training: from a checkpoint, the run around it, and its card."""
    facts = {key: value for key, value in about.items() if key not in HIDDEN}
    folder = RunFolder(path.parent)
    if run := folder.described():
        facts |= {key: value for key, value in run["recipe"].items() if key not in HIDDEN}
        facts |= {key: run[key] for key in ("method", "seed", "versions")}
    rows = folder.metrics(damaged=True)
    losses = [row["loss_validation"] for row in rows if row.get("loss_validation") is not None]
    if losses:
        facts["best_validation_loss"] = min(losses)
    return facts | {key: card[key] for key in FROM_CARD if key in card}


def _report_part(report: Path) -> str:
    if not report.is_file():
        return ""
    return f"On positions that were held back:\n\n{fenced(report.read_text(encoding='utf-8'))}"


def _matches_part(card: Mapping[str, object]) -> str:
    results = card.get("results")
    rows = [row for row in results if isinstance(row, dict)] if isinstance(results, list) else []
    if not rows:
        return ""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[cell(row.get(head, "")) for head in heads] for row in rows]
    text = table([head.replace("_", " ") for head in heads], lines)
    return f"## Matches\n\n{text}\n\n`low` and `high` are the ends of a 95 % interval."


def _limits_part(game: Game, about: About) -> str:
    options = facts_table(dataclasses.asdict(game.options)) or "The game has no options."
    source = f" It was imported from `{about['source']}`." if "source" in about else ""
    return (
        "## Uses and limits\n\n"
        f"It plays and analyses {game.name} with kibitz {__version__}.{source} "
        f"It reads the view `{game.viewed}` ({game.view_size:,} numbers) and was trained for "
        f"version {game.version} of the rules with these options:\n\n{options}\n\n"
        "kibitz refuses it for rules that it does not fit. What it says of positions that good "
        "players do not reach is a guess, and nothing is known of its strength beyond the matches "
        "on this page."
    )


def _card_beside(path: Path) -> Facts:
    """The card of a champion; empty if there is none."""
    with suppress(OSError, ValueError, RecursionError):
        card = json.loads(path.with_suffix(".json").read_bytes())
        return card if isinstance(card, dict) and "players" in card else {}
    return {}


def _licence(about: About) -> str:
    """Its own; else that of the package, unless the network is from elsewhere."""
    own = about.get("licence")
    return slug(own) if isinstance(own, str) else UNKNOWN if "source" in about else LICENCE


def _texts(values: object) -> list[str]:
    return [v for v in values if isinstance(v, str)] if isinstance(values, list) else []
