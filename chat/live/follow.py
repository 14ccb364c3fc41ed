"""Follow a running turn: its state, kept complete by events in order and, behind a gap, by a checkpoint."""

from __future__ import annotations

from typing import Generic, TypeVar

from chat.live.state import Event, TurnState

State = TypeVar("State", bound=TurnState)
MAX_EARLY = 1000  # events that wait for a checkpoint


class TurnFollower(Generic[State]):
    """A running turn as a page or a stream knows it. ``seq`` is the number of the last event that it has followed.

    Where this process runs the turn, the state is ``LiveTurn``, to which the turn itself applies its events. Otherwise
    it is that of a checkpoint, to which they are applied here.
    """

    def __init__(self, turn: State) -> None:
        self.turn = turn
        self.seq = turn.seq
        self.early: dict[int, Event] = {}  # by number: behind a gap, they wait for a later state

    def receive(self, event: Event) -> list[Event]:
        """Return the events that continue what was followed, in order: none for a known one, or behind a gap."""
        seq = event["seq"]
        if seq == self.seq + 1 or (seq > self.seq and len(self.early) < MAX_EARLY):
            self.early[seq] = event
        followed: list[Event] = []
        while (following := self.early.get(self.seq + 1)) and self.turn.can_apply(following):
            self.seq += 1
            del self.early[self.seq]
            if self.seq > self.turn.seq:
                self.turn.apply(following)
            followed.append(following)
        return followed

    def continue_from(self, newer: State) -> bool:
        """Continue from a state that was read just now; return whether it is later than what was followed."""
        if newer.seq <= self.seq:
            # A checkpoint has all of the thinking, events only what viewers without the right to all of it may read.
            self.turn.thinking = max(self.turn.thinking, newer.thinking[: self.turn.thinking_chars], key=len)
            return False
        newer.take_over(self.turn)
        self.turn, self.seq = newer, newer.seq
        early, self.early = self.early, {}
        for seq in sorted(early):
            self.receive(early[seq])
        return True
