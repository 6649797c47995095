import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.routes import router
from app.routes.errors import add_error_handlers
from app.service.checkpoints import checkpoint_runs
from app.service.checkpoints.checkpoint_cache import DEFAULT_BUDGET, CheckpointCache


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty checkpoint folder and an empty cache with a long timeout; the previous ones are restored afterwards."""
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.WAIT_SECONDS", 60)
    before = checkpoint_runs.settings.root, checkpoint_runs.checkpoint_cache
    checkpoint_runs.checkpoint_cache = CheckpointCache()
    checkpoint_runs.configure_checkpoints(tmp_path / "root", DEFAULT_BUDGET)
    (tmp_path / "root").mkdir()
    yield tmp_path / "root"
    checkpoint_runs.settings.root, checkpoint_runs.checkpoint_cache = before


@pytest.fixture
def client(root):
    app = FastAPI()
    app.include_router(router)
    add_error_handlers(app)
    return TestClient(app)
