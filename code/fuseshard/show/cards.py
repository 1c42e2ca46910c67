"""Say where numbers come from: the card at the end of each page, the line under each record.

A number measured while the page was built and one read from a recording never look alike.
"""

from __future__ import annotations

from dataclasses import asdict

from fuseshard.measure import records as measured
from fuseshard.show.numbers import number
from fuseshard.show.records import Origin, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Plain, Text, Word, plain, word


def environment_card(environment: measured.Environment) -> Table:
    """Show the machine and the versions that made the page.

    Args:
        environment: from `fuseshard.measure.provenance.environment()`.
    """
    rows = _card_rows(environment)
    table = TableBuilder("environment", word("The machine and the versions that made this page."))
    table.texts(word("Part"), [part for part, _ in rows])
    table.texts(word("Here"), [here for _, here in rows])
    return table.build()


def origin_line(origin: measured.Origin | None, *, num_threads: int | None = None) -> Origin | None:
    """Make the line under a record from a measurement's origin; None stays None.

    Args:
        origin: of a Comparison, a Sweep or an experiment's result.
        num_threads: threads that the timings took, if it was timings; the environment's own
            count is the process's, not theirs.
    """
    if origin is None:
        return None
    environment = origin.environment
    details = asdict(environment)
    if origin.is_live:
        return Origin(True, _live(environment, num_threads), details)
    return Origin(False, _recorded(environment), details)


def _live(environment: measured.Environment, num_threads: int | None) -> Word:
    if num_threads is None:
        return word(
            "Measured while this page was built: {cpu}, torch {torch}, {date}.",
            cpu=_processors(environment),
            torch=environment.torch,
            date=_day(environment),
        )
    return word(
        "Measured while this page was built: {cpu}, {threads}, torch {torch}, {date}.",
        cpu=_processors(environment),
        threads=_threads(num_threads),
        torch=environment.torch,
        date=_day(environment),
    )


def _recorded(environment: measured.Environment) -> Word:
    if environment.gpu is None:
        return word(
            "Recorded, not measured here: {cpu}, torch {torch}, {date}.",
            cpu=environment.cpu,
            torch=environment.torch,
            date=_day(environment),
        )
    values = {
        "gpu": _gpus(environment) or environment.gpu,
        "cuda": environment.cuda or "?",
        "torch": environment.torch,
        "date": _day(environment),
    }
    if environment.num_processes > 1:
        return word(
            "Recorded in {processes} processes, not measured here: {gpu}, CUDA {cuda}, torch "
            "{torch}, {date}.",
            processes=str(environment.num_processes),
            **values,
        )
    return word("Recorded, not measured here: {gpu}, CUDA {cuda}, torch {torch}, {date}.", **values)


def _card_rows(environment: measured.Environment) -> list[tuple[Text, Text]]:
    """Name and content of each row; what isn't there says so."""
    none = word("none")
    clean = plain(environment.commit or "")
    changed = word("{commit}, with changes", commit=environment.commit or "")
    commit = changed if environment.is_modified else clean
    cpu = word(
        "{cpu}, {cores}, vector instructions {capability}",
        cpu=environment.cpu,
        cores=_cores(environment.num_cores),
        capability=environment.cpu_capability,
    )
    return [
        (word("Date (UTC)"), plain(environment.date_utc.replace("T", " ").removesuffix("Z"))),
        (word("System"), plain(environment.system)),
        (word("CPU"), cpu),
        (word("Torch's threads"), plain(environment.num_threads)),
        (word("GPU"), _or(_gpus(environment), none)),
        (word("GPU driver, CUDA"), _or(_join(environment.driver, environment.cuda), none)),
        *_gpu_state_rows(environment.gpu_state),
        (plain("Python"), plain(environment.python)),
        (plain("torch"), plain(environment.torch)),
        (plain("Triton"), _or(environment.triton, none)),
        (word("C++ compiler"), _or(environment.compiler, none)),
        (word("Commit of the book"), commit if environment.commit else none),
    ]


def _gpu_state_rows(state: measured.GpuState | None) -> list[tuple[Text, Text]]:
    """A card's clocks as they were found; no row where nobody knows them."""
    if state is None:
        return []
    clocks = word(
        "processor {sm} of {most} MHz, memory {memory} MHz",
        sm=number(state.sm_mhz, 4),
        most=number(state.max_sm_mhz, 4),
        memory=number(state.memory_mhz, 4),
    )
    limits = word(
        "at most {power} W, found at {heat} °C",
        power=number(state.power_limit_w),
        heat=number(state.temperature_c),
    )
    return [(word("GPU clocks as found"), clocks), (word("GPU power and heat"), limits)]


def _or(text: str | None, otherwise: Word) -> Text:
    return Plain(text) if text else otherwise


def _join(*parts: str | None) -> str | None:
    return ", ".join(part for part in parts if part) or None


def _processors(environment: measured.Environment) -> str:
    """The CPU and, where there is one, the GPU: a live result may be of either."""
    return _join(environment.cpu, _gpus(environment)) or environment.cpu


def _gpus(environment: measured.Environment) -> str | None:
    """One GPU by its name, several with their number, which needs no translation."""
    if environment.gpu is None or environment.num_gpus <= 1:
        return environment.gpu
    return f"{environment.num_gpus} × {environment.gpu}"


def _threads(num_threads: int) -> Word:
    if num_threads == 1:
        return word("1 thread")
    return word("{n} threads", n=num_threads)


def _cores(num_cores: int) -> Word:
    if num_cores == 1:
        return word("1 core")
    return word("{n} cores", n=num_cores)


def _day(environment: measured.Environment) -> str:
    return environment.date_utc[:10]
