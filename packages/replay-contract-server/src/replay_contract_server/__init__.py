"""A strict OpenAI-compatible model service for tests, on loopback, without a clock or chance in what it sends.

It refuses what some real service refuses, streams scripted replies in whatever pieces a test wants, injects faults and
records every request. Start reading in ``exchange``; tests use ``fixture.running_contract_server``.
"""
