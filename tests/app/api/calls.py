"""Calls of an app's endpoints and routes, and the runs and texts they are about."""

import json
import urllib.request

from gradio_client import Client

NAMES = ["models", "build", "runs", "look", "capture", "train", "evaluate", "generate", "measures", "figure"]
GPT, LSTM, CHECKPOINT = "induction-gpt", "parity-lstm", "checkpoint:org/gpt"
REPEATED = "t g w b n h c s t g w b n h c s"
BITS = "3 2 3 3 2 2 3 2 3 3 3 2"
WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(client: Client, endpoint: str, /, **arguments):
    return client.predict(**arguments, api_name=f"/{endpoint}")


def post(app_url: str, path: str, body: dict):
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{app_url}/api/{path}", json.dumps(body).encode(), headers)
    with WITHOUT_PROXY.open(request) as response:
        return json.load(response)


def replay(run, text: str, pattern: str):
    """What core captures at every snapshot."""
    return run.replay([run.task.read(text)], pattern)
