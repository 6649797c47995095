"""The same endpoints as the tools of an MCP server, called by a real MCP client."""

import asyncio
from ast import literal_eval

import plotly.io
import pytest
from fastapi.testclient import TestClient
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from safetensors.numpy import load

import core
from app.main import make_app
from core.analysis.measures import count_parameters
from tests.app.api.calls import GPT, LSTM, NAMES, REPEATED, WITHOUT_PROXY, replay


async def _converse(app_url: str, questions):
    """The tools, and the results of calling some of them: (name, arguments), one after the other."""
    async with (
        streamable_http_client(f"{app_url}/gradio_api/mcp/") as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        return tools, [await session.call_tool(name, arguments) for name, arguments in questions]


def converse(app_url: str, *questions):
    return asyncio.run(_converse(app_url, questions))


def test_the_tools_are_the_endpoints(app_url):
    tools, _ = converse(app_url)
    assert sorted(tool.name for tool in tools) == sorted(NAMES)
    for tool in tools:
        assert tool.description, tool.name
        assert all(parameter.get("description") for parameter in tool.inputSchema["properties"].values()), tool.name


def test_tools_give_the_numbers_of_core(app_url, gpt, lstm):
    _, (built, evaluated, captured, drawn) = converse(
        app_url,
        ("build", {"family": "gpt", "options": {"n_layers": 3}}),
        ("evaluate", {"run": LSTM}),
        ("capture", {"run": GPT, "text": REPEATED}),
        ("figure", {"name": "blocks/one_head", "run": GPT, "text": REPEATED, "state": {"head": 1}}),
    )
    assert not any(answer.isError for answer in (built, evaluated, captured, drawn))
    model = core.build("gpt", n_layers=3)
    assert literal_eval(built.content[0].text)["parameters"] == sum(count_parameters(model).values())
    assert literal_eval(evaluated.content[0].text)["accuracy"] == lstm.evaluate().accuracy
    tape = replay(gpt, REPEATED, "*.weights")[-1]
    with WITHOUT_PROXY.open(captured.content[0].text) as response:
        arrays = load(response.read())
    assert all((arrays[name] == tape[name].numpy()).all() for name in tape.names())
    figure = plotly.io.from_json(drawn.content[0].text)
    assert abs(figure.data[0].z - tape["blocks.0.attn.weights"][0, 1].numpy()).max() < 1e-6


def test_a_tool_trains(app_url):
    _, (trained,) = converse(app_url, ("train", {"family": "lstm", "task": "parity", "options": {"steps": 40}}))
    last = literal_eval(trained.content[0].text)
    assert last["status"] == "done" and last["step"] == 40 and 0 <= last["accuracy"] <= 1


@pytest.mark.parametrize(
    "name, arguments, part",
    [
        ("build", {"family": "gtp"}, "there is no such model."),
        ("look", {"run": "no-such-run"}, "There is no run called"),
        ("train", {"family": "lstm", "task": "parity", "options": {"stepps": 1}}, "Did you mean steps?"),
        ("evaluate", {"run": 3}, "is not of type"),
    ],
)
def test_a_refused_call_is_one_sentence(app_url, name, arguments, part):
    _, (refused,) = converse(app_url, (name, arguments))
    assert refused.isError and part in refused.content[0].text
    assert "Traceback" not in refused.content[0].text


def test_there_is_none_unless_asked_for():
    with TestClient(make_app()) as client:
        assert client.get("/gradio_api/mcp/schema").status_code == 404
