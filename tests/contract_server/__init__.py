"""A strict OpenAI-compatible upstream for tests, on loopback, with no clock and no chance in what it sends.

It refuses what some real service refuses, streams scripted replies cut wherever a test wants them cut, injects faults
and remembers every request. Start reading in ``server``; tests take ``fixture.running_contract_server``.
"""
