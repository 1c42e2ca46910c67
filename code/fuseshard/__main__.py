"""The command line: `python -m fuseshard doctor | record | plan`.

Each command imports what it needs when it is called, so that `doctor` also answers without torch.
"""

import argparse
import functools
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuseshard import recorder

EXPERIMENT_LAYERS = ("measure", "compiler", "distributed")

INTERRUPTED = 130
"""exit status after Ctrl-C, as shells report it"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: the command line without the program; None takes the process's own.

    Returns:
        Exit status.
    """
    chosen = _parser().parse_args(arguments)
    if chosen.command == "doctor":
        from fuseshard import doctor  # noqa: PLC0415 - see the module's docstring

        return doctor.main(quick=chosen.for_build)
    if chosen.command == "plan":
        return _plan(chosen)
    return _record(chosen)


def _plan(chosen: argparse.Namespace) -> int:
    """Print the ranked layouts of a known model on known nodes."""
    from fuseshard.distributed.planner import survey  # noqa: PLC0415 - see the module's docstring
    from fuseshard.distributed.planning import presets  # noqa: PLC0415
    from fuseshard.show import html  # noqa: PLC0415
    from fuseshard.show.planner.layouts import (  # noqa: PLC0415
        binding,
        layout_table,
        obstacle_texts,
        tally,
    )

    try:
        model = presets.model_preset(
            chosen.model, sequence=chosen.sequence, global_batch=chosen.batch
        )
        cluster = presets.cluster_preset(chosen.cluster, num_nodes=chosen.nodes)
    except ValueError as error:
        print(f"plan: {error}", file=sys.stderr)
        return 2
    found = survey(model, cluster)
    print(tally(found))
    for reason in obstacle_texts(found):
        print(f"  {reason}")
    print(binding(found, cluster))
    if not found.feasible:
        return 1
    print(f"\n{html.text(layout_table(found.feasible[: chosen.rows]).to_json())}")
    return 0


def _record(chosen: argparse.Namespace) -> int:
    """Run experiments and merge their results into the machine's file, one by one."""
    from fuseshard import recorder  # noqa: PLC0415 - it imports torch
    from fuseshard.measure import experiments, recordings  # noqa: PLC0415
    from fuseshard.measure.provenance import environment  # noqa: PLC0415

    import_experiments()
    known = {item.id: item for item in experiments.registered()}
    if chosen.only is not None and chosen.only not in known:
        print(
            f"no experiment {chosen.only!r}; there are: {', '.join(known) or 'none'}",
            file=sys.stderr,
        )
        return 2
    wanted = [known[chosen.only]] if chosen.only is not None else list(known.values())
    able = [item.id for item in wanted if item.can_run()]
    for item in wanted:
        if item.id not in able:
            print(f"{item.id}: left out, it needs {item.needs}")
    machine = recordings.machine_name(environment())
    path = chosen.out or recordings.RECORDINGS_FOLDER / f"{machine}.json"
    try:
        recordings.check_target(path, machine)
    except (OSError, ValueError) as error:
        print(f"record: results can't be kept: {error}", file=sys.stderr)
        return 2
    target = recorder.Target(path=path, machine=machine, commit=chosen.commit)
    if chosen.in_process:
        for experiment_id in able:
            recorder.measure_here(experiment_id, target)
        return 0
    return _record_apart(able, len(wanted), target)


def _record_apart(able: Sequence[str], num_wanted: int, target: "recorder.Target") -> int:
    """Measure in processes of their own, and end with a tally, after an interrupt too."""
    from fuseshard import recorder  # noqa: PLC0415 - it imports torch

    def command(experiment_id: str, path: Path) -> list[str]:
        options = ["--only", experiment_id, "--out", str(path), "--in-process"]
        commit = ["--commit", target.commit] if target.commit is not None else []
        return [sys.executable, "-m", "fuseshard", "record", *options, *commit]

    say = functools.partial(print, flush=True)
    try:
        num_recorded = recorder.measure_all(able, target, command=command, say=say)
    except KeyboardInterrupt:
        print(f"interrupted; what was measured before is kept in {target.path}", file=sys.stderr)
        return INTERRUPTED
    print(f"{num_recorded} of {num_wanted} recorded" + (f" in {target.path}" if able else ""))
    return 0 if able and num_recorded == len(able) else 1


def import_experiments() -> None:
    """Import every module that may hold experiments, which enters them in the registry."""
    for layer in EXPERIMENT_LAYERS:
        package = importlib.import_module(f"fuseshard.{layer}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            _import(module.name)


def _import(name: str) -> None:
    """Import a module; one that needs a package that isn't installed is left out, and named."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("fuseshard"):
            raise
        print(f"{name}: left out, it needs {error.name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuseshard", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="say whether the book can be built here")
    doctor.add_argument(
        "--for-build",
        action="store_true",
        help="only the quick checks, and only what is wrong; what `make book` calls first",
    )
    _add_plan(commands.add_parser("plan", help="rank the layouts in which a model can train"))
    record = commands.add_parser("record", help="run the experiments that this machine can run")
    record.add_argument("--only", metavar="ID", help="just this experiment")
    record.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to write; default: the machine's file among the package's recordings",
    )
    record.add_argument(
        "--commit",
        metavar="HASH",
        help="the book's commit, on a machine that got its files without git",
    )
    record.add_argument(
        "--in-process",
        action="store_true",
        help="measure here, so that an error ends the command; otherwise each experiment has a "
        "process of its own, and one that fails is recorded as failed",
    )
    return parser


def _add_plan(plan: argparse.ArgumentParser) -> None:
    plan.add_argument(
        "--model", required=True, metavar="NAME", help="such as llama3-70b; a wrong one lists all"
    )
    plan.add_argument(
        "--cluster", required=True, metavar="NAME", help="such as h200x8; a wrong one lists all"
    )
    plan.add_argument("--nodes", type=int, default=1, metavar="N", help="nodes; default: 1")
    plan.add_argument("--batch", type=int, metavar="N", help="sequences in a step")
    plan.add_argument("--sequence", type=int, metavar="N", help="tokens in a sequence")
    plan.add_argument("--rows", type=int, default=10, metavar="N", help="layouts shown; default 10")


if __name__ == "__main__":
    sys.exit(main())
