"""``spa prolific reject``: propose rejections in a file and send those selected there."""

from __future__ import annotations

from pathlib import Path

import click

from prolific.commands.shared import announce, study_options, yes_option
from spa.commands.options import StudyLocation


@click.command(
    epilog="Examples: spa prolific reject my-study/study.toml --propose rejections.toml; "
    "spa prolific reject my-study/study.toml --from rejections.toml --yes"
)
@study_options
@click.option(
    "--propose", type=click.Path(path_type=Path, dir_okay=False), help="Write possible rejections to this TOML file."
)
@click.option(
    "--from",
    "decided",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Reject the submissions that this file marks with reject = true.",
)
@yes_option("Reject and withhold pay")
def reject(location: StudyLocation, propose: Path | None, decided: Path | None, yes: bool) -> None:
    """Reject submissions to STUDY within Prolific's rules.

    --propose writes the possible rejections to a file for you to decide; --from checks and sends them. Exclusion from
    the analysis is no reason to reject. Often it is enough to ask for a return: spa prolific message --ask-return.
    """
    from prolific import rejecting
    from prolific.collecting import look_at_all
    from prolific.prolific_study import open_prolific_study
    from spa.platforms.review import decided_by_reviewers
    from spa.responses.two_reviewers import two_decide

    if (propose is None) == (decided is None):
        raise click.UsageError("expected either --propose or --from")
    with open_prolific_study(location, alone=True, announce=announce) as prolific_study:
        known = {
            submission_id: (one.session, facts)
            for one in look_at_all(prolific_study)
            for submission_id, facts in rejecting.gather_facts(prolific_study, one).items()
        }
        standing = decided_by_reviewers(prolific_study.store)
        if propose is not None:
            found = rejecting.propose([facts for _, facts in known.values()], standing)
            rejecting.write_proposals(propose, found)
            click.echo(
                f"{len(found)} possible rejections in {propose}; decide on each there, then use --from {propose}"
            )
            return
        assert decided is not None
        with prolific_study.store.reading() as connection:
            by_two = standing if two_decide(connection) else None
        cases = rejecting.check_cases(decided, rejecting.read_proposals(decided), known, by_two)
        for case in cases:
            click.echo(f"{case.proposal.submission}: {case.proposal.category}: {case.proposal.message}")
        if not yes:
            click.echo(f"Nothing was rejected; {len(cases)} comply with the rules; add --yes to reject.")
            return
        for case in cases:
            record = rejecting.reject(prolific_study, case)
            click.echo(f"  {record.submission_id}: {record.status}")
