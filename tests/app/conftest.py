import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.routes import looks, router
from app.service.checkpoints import checkpoint_runs
from app.service.checkpoints.checkpoint_cache import BUDGET, Shelf
from core import ConfigError, InputError


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty root and an empty shelf, whose readers are in no hurry; what was there before comes back."""
    monkeypatch.setattr("app.service.checkpoints.checkpoint_cache.PATIENCE", 60)
    before = checkpoint_runs.settings.root, checkpoint_runs.shelf
    checkpoint_runs.shelf = Shelf()
    checkpoint_runs.set_up(tmp_path / "root", BUDGET)
    (tmp_path / "root").mkdir()
    yield tmp_path / "root"
    checkpoint_runs.settings.root, checkpoint_runs.shelf = before


@pytest.fixture
def client(root):
    app = FastAPI()
    app.include_router(router)
    for refusal in (InputError, ConfigError):
        app.add_exception_handler(refusal, looks.say_problem)
    return TestClient(app)
