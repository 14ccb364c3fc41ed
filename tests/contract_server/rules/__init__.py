"""The rules, by who is strict about what. Each is data: an id and a check that returns a refusal or nothing."""
