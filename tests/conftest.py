import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start, too: two test workers share the cores

import pytest
import torch
from xdist.scheduler import LoadFileScheduling

torch.set_num_threads(1)  # the models are small
# With an app, a pretrained model of their own.
OWN_FIXTURES = {f"tests/browser/test_{name}.py" for name in ("attention", "checkpoints")}


class Scheduling(LoadFileScheduling):
    """Tests of a file share fixtures and stay on one worker; those in the browser share only the session's."""

    def _split_scope(self, nodeid: str) -> str:
        path = super()._split_scope(nodeid)
        return nodeid if path.startswith("tests/browser/") and path not in OWN_FIXTURES else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> Scheduling:
    config.option.loadscopereorder = False  # in the order below
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Last: Playwright keeps an event loop running in the main thread, which breaks any later asyncio.run().
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
