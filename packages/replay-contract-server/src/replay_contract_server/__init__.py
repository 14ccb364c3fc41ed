"""A strict OpenAI-compatible model service for tests, on loopback, without a clock or chance in what it sends.

It refuses what some real service refuses, streams scripted replies in whatever pieces a test wants, injects faults and
records every request. Start reading in ``exchange``; tests use ``running_contract_server``.
"""

from replay_contract_server.fixture import ContractHandle, running_contract_server
from replay_contract_server.server import ContractServer

__all__ = ["ContractHandle", "ContractServer", "running_contract_server"]
__version__ = "0.1.0"
