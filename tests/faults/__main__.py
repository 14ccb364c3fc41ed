"""A campaign by hand: ``python -m tests.faults --kills 50 --seed 7 [--database postgres://… [--redis redis://…]]``.

With a Redis two processes serve and either is killed. The named database must be empty and is not emptied afterwards.
Ends with an error where something was lost.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from replay_contract_server.fixture import running_contract_server
from tests.faults.campaign import CONVERSATIONS, FAST_LEASES, ROUNDS_EACH, KillCampaign
from tests.faults.site import DoomedSite


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", default="", help="the address of an empty PostgreSQL database; else SQLite")
    parser.add_argument("--redis", default="", help="the address of a Redis: two processes, of which one is killed")
    options = parser.parse_args()
    if options.redis and not options.database:
        sys.exit("--redis: two processes need a --database that both can use")
    conversations = CONVERSATIONS * -(-options.kills // ROUNDS_EACH)
    with tempfile.TemporaryDirectory() as name, running_contract_server() as model:
        own = {"OPENAI_BASE_URL": model.base_url}
        own |= {"REDIS_URL": options.redis, **FAST_LEASES} if options.redis else {}
        site = DoomedSite(Path(name), conversations=conversations, database_url=options.database, **own)
        sites = [site, site.second(Path(name) / "second")] if options.redis else [site]
        campaign = KillCampaign(sites, model, options.seed)
        campaign.run(options.kills)
    print(f"{options.kills} kills, {campaign.interrupted} turns interrupted: nothing acknowledged was lost")


if __name__ == "__main__":
    main()
