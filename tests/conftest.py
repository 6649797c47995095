import pytest
import torch

torch.set_num_threads(1)  # the models are small, and two test workers share the cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Last: Playwright keeps an event loop running in the main thread, which breaks any later asyncio.run().
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
