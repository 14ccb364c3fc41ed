"""Run the contract server by hand or as a child process: a strict OpenAI-compatible model service on loopback."""

import argparse
import asyncio
import json
import signal
from pathlib import Path

from replay_contract_server import __version__
from replay_contract_server.script import parse_script
from replay_contract_server.server import HOST, ContractServer

HERE = Path(__file__).parent


def main() -> None:
    options = _options().parse_args()
    server = ContractServer()
    if options.script:
        server.state.script = parse_script(json.loads(options.script.read_text()))
    asyncio.run(_run(server, options.port, options.port_file))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replay_contract_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8089, help="0 for a free one")
    parser.add_argument("--script", type=_script_path, help="a JSON file; demo.json comes with the package")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--port-file", type=Path, help="where to write the port once the server listens")
    return parser


def _script_path(name: str) -> Path:
    found = next((path for path in (Path(name), HERE / name) if path.is_file()), None)
    if found is None:
        raise argparse.ArgumentTypeError(f"{name}: no such file")
    return found


async def _run(server: ContractServer, port: int, port_file: Path | None) -> None:
    port = await server.start(port)
    if port_file:
        half = port_file.with_suffix(f"{port_file.suffix}.part")
        half.write_text(str(port))
        half.replace(port_file)  # no reader sees it half written
    print(f"Contract server: OPENAI_BASE_URL=http://{HOST}:{port}/v1", flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await server.stop()


if __name__ == "__main__":
    main()
