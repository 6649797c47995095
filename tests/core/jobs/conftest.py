import pytest
import torch

from core.jobs import Jobs
from core.runs.store import Store


@pytest.fixture(scope="session")
def jobs(tmp_path_factory):
    """One for all tests, which use different seeds: starting takes as long as importing torch."""
    torch.set_num_threads(1)
    with Jobs(Store(tmp_path_factory.mktemp("runs")), workers=2, checkpoint_seconds=0.3) as jobs:
        yield jobs
