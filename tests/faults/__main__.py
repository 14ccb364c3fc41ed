"""A campaign by hand: ``python -m tests.faults --kills 50 --seed 7 [--database postgres://… [--redis redis://…]]``.

With a Redis two processes serve and either is killed. The database that is named must be empty and is left as the
campaign leaves it. Exit 1 where something was lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.faults.campaign import CONVERSATIONS, ROUNDS_EACH, Campaign, Tally
from tests.faults.pair import FAST, PairCampaign
from tests.faults.site import DoomedSite
from tests.faults.talk import PAD, THOUGHT


def main() -> None:
    options = _options().parse_args()
    if options.redis and not options.database:
        sys.exit("--redis: two processes need a --database that both can use")
    with tempfile.TemporaryDirectory() as folder, running_contract_server() as model:
        sites = _sites(Path(folder), options, model)
        try:
            campaign = PairCampaign((sites[0], sites[1]), model, options.seed, _report) if options.redis else None
            tally = (campaign or Campaign(sites[0], model, options.seed, _report)).run(options.kills)
            audits = [site.audit(PAD, THOUGHT).strip() for site in sites]
        finally:
            for site in sites:
                site.stop()
    sys.stdout.write("\n".join([*audits, f"seed {options.seed}: {tally}", _summary(tally)]) + "\n")


def _sites(folder: Path, options: argparse.Namespace, model: ContractHandle) -> list[DoomedSite]:
    conversations = CONVERSATIONS * -(-options.kills // ROUNDS_EACH)
    own = {"OPENAI_BASE_URL": model.base_url} | ({"REDIS_URL": options.redis, **FAST} if options.redis else {})
    site = DoomedSite(folder, conversations=conversations, database_url=options.database, **own)
    if not options.redis:
        return [site]
    (folder / "beside").mkdir()
    return [site, site.beside(folder / "beside")]


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", default="", help="the address of an empty PostgreSQL database; else SQLite")
    parser.add_argument("--redis", default="", help="the address of a Redis: two processes, of which one is killed")
    return parser


def _report(tally: Tally) -> None:
    last = f"killed after {tally.moments_s[-1]} s"
    sys.stdout.write(f"{tally.kills}: {last}; {tally.interrupted} interrupted so far, {tally.with_text} with text\n")
    sys.stdout.flush()


def _summary(tally: Tally) -> str:
    if not tally.told_after_s:
        return "nothing acknowledged was lost"
    waits = sorted(tally.told_after_s)
    return (
        f"nothing acknowledged was lost; pages of the other knew after {median(waits)} s (p50), {waits[-1]} s (worst)"
    )


if __name__ == "__main__":
    main()
