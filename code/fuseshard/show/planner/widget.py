"""A planner in the page: a reader changes sizes, and the ranked layouts follow.

The output of a cell holds the presets, the words and the table that is seen first; the page's
script computes every other one from the same formulas (static/fuseshard/planner-model.js).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fuseshard.distributed.planner import Survey, survey
from fuseshard.distributed.planning.presets import (
    CLUSTERS,
    MODELS,
    cluster_preset,
    model_preset,
)
from fuseshard.distributed.planning.records import Cluster
from fuseshard.show.planner.layouts import MOST_ROWS, binding, layout_table, tally
from fuseshard.show.planner.words import CLUSTER_FIELDS, LIMITS, MODEL_FIELDS, OBSTACLES
from fuseshard.show.records import Record, Table
from fuseshard.show.words import VERSION, Json, Word, plain, word

PLANNER_MIME = "application/vnd.fuseshard.planner+json"


@dataclass(frozen=True)
class Planner(Record):
    """Sizes to change, and the layouts that follow from them."""

    mime = PLANNER_MIME
    label: Word
    """what is planned"""
    model: str
    """key of the model that is seen first"""
    cluster: str
    """key of the nodes that are seen first"""
    num_nodes: int
    """how many of them"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._survey()  # refuses unknown presets in the cell

    @property
    def machines(self) -> Cluster:
        """The cluster that is seen first."""
        return cluster_preset(self.cluster, num_nodes=self.num_nodes)

    @property
    def table(self) -> Table:
        """The layouts that are seen first."""
        return layout_table(self._survey().feasible[:MOST_ROWS], name=f"{self.name}-layouts")

    def _survey(self) -> Survey:
        return survey(model_preset(self.model), self.machines)

    def to_json(self) -> Json:
        """Return presets, words and the first table; sizes in the records' own units."""
        found = self._survey()
        return {
            "version": VERSION,
            "name": self.name,
            "label": self.label.to_json(),
            "start": {"model": self.model, "cluster": self.cluster, "num_nodes": self.num_nodes},
            "models": [
                {"key": key, "label": plain(known.title).to_json(), "sizes": asdict(known.shape)}
                for key, known in MODELS.items()
            ],
            "clusters": [
                {"key": key, "label": plain(known.title).to_json(), "sizes": asdict(known.node)}
                for key, known in CLUSTERS.items()
            ],
            "model_fields": [field.to_json() for field in MODEL_FIELDS],
            "cluster_fields": [field.to_json() for field in CLUSTER_FIELDS],
            "limits": {key: said.to_json() for key, said in LIMITS.items()},
            "obstacles": {key: said.to_json() for key, said in OBSTACLES.items()},
            "answers": [word("no").to_json(), word("yes").to_json()],
            "most_rows": MOST_ROWS,
            "planned": self.table.to_json(),
            "tally": tally(found).to_json(),
            "binding": binding(found, self.machines).to_json(),
        }


def planner_widget(name: str, *, model: str, cluster: str, num_nodes: int = 1) -> Planner:
    """Let a reader plan: pick or change a model and a cluster, and see the ranked layouts.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        model: key of the model that is seen first, see `presets.MODELS`.
        cluster: key of the nodes that are seen first, see `presets.CLUSTERS`.
        num_nodes: how many of them.

    Raises:
        ValueError: a preset is unknown, or the number can't be.
    """
    return Planner(name, word("Plan a training run"), model, cluster, num_nodes)
