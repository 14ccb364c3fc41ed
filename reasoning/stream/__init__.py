"""Model output in: normalizer, think blocks, sections, tool calls, the turn machine."""
