"""Every rule and figure of the out-of-use, crowding and partner reasoning, left out by itself."""

import numpy as np
from benches.ablation_rules import (
    CROWDED,
    FOLLOW,
    HOME,
    KEPT,
    MANY,
    MEET,
    OTHERS,
    OUT,
    REROUTED,
    SETTLED,
    SURVEYS,
    TIME,
    Ablation,
    AllNumbers,
    all_met,
    always,
    episodes_by,
    episodes_only,
    episodes_with,
    every_pair,
    figure,
    itself,
    meetings_once,
    never,
    no_once_more,
    no_rows,
    nothing,
    one_kind,
    patch_of,
    plain_room,
    same_pairs,
    strongest_anew,
    usual,
    without,
)

OUT_OF_USE = (
    Ablation(
        "out_of_use (all of it)",
        "no cable is out of use",
        "static",
        patches=(
            patch_of(SURVEYS, "out_of_use", nothing),
            patch_of(SETTLED, "surely_out_of_use", nothing),
        ),
    ),
    Ablation(
        "_by_engines",
        "engines are not asked: `meetings` answers",
        "static",
        patches=(patch_of(OUT, "_by_engines", lambda *_: None),),
    ),
    Ablation(
        "meetings (all of it)",
        "nothing is found where nobody knows the ways",
        "static",
        patches=(patch_of(OUT, "detours_of", nothing),),
    ),
    Ablation(
        "kept, fitted (all of it)",
        "nothing is found where tables were read",
        "static",
        patches=(patch_of(OUT, "_by_tables", nothing),),
    ),
    Ablation(
        "kept, fitted: meetings instead",
        "`meetings` answers where tables were read",
        "static",
        patches=(patch_of(OUT, "_by_tables", lambda *_: None),),
    ),
    Ablation(
        "told_of",
        "cables may be named that no reading beside others crosses",
        "static",
        patches=(patch_of(REROUTED, "Rerouted.told_of", lambda _: AllNumbers()),),
    ),
    Ablation(
        "shows_both_ways",
        "one direction is enough",
        "static",
        patches=(patch_of(KEPT, "Kept.shows_both_ways", always),),
    ),
    Ablation(
        "second look (meetings)",
        "what was found first stays",
        "static",
        patches=(patch_of(OUT, "detours_of", meetings_once),),
    ),
    Ablation(
        "shown_apart",
        "a second detour need not show by itself",
        "static",
        patches=(
            patch_of(OUT, "shown_apart", lambda c, found: tuple(d for d in found if d.is_sure(c))),
        ),
    ),
    Ablation(
        "shown_in_most",
        "a few of the messages of a cable are enough",
        "static",
        patches=(patch_of(OUT, "shown_in_most", lambda _, __, found: tuple(found)),),
    ),
    Ablation(
        "_touched",
        "what waited behind what met is not excused",
        "static",
        patches=(
            patch_of(
                MEET,
                "_Search._touched",
                lambda self, mine: {*mine, *(j for i in mine for j in self._met[i])},
            ),
        ),
    ),
    Ablation(
        "_parallel",
        "cables between the same switches are not excused",
        "static",
        patches=(patch_of(MEET, "_Search._parallel", lambda *_: set()),),
    ),
    Ablation(
        "excused",
        "what met a detour counts for the next",
        "static",
        patches=(patch_of(MEET, "_Search.strongest", strongest_anew, wraps=True),),
    ),
    Ablation(
        "_room",
        "one message fills any cable",
        "static",
        patches=(patch_of(MEET, "_room", plain_room),),
    ),
    Ablation(
        "_on_one_way",
        "a message may have met all that it can",
        "static",
        patches=(patch_of(MEET, "_Search._on_one_way", all_met),),
    ),
    figure("detour_again", 0, "need not be slow again", "static"),
    figure("meeting_sigma", 0, "no clearer than noise", "static"),
    figure("meeting_least", 0, "slow by anything", "static"),
    figure("meeting_guests", 1, "one guest only", "static"),
    figure("meeting_moments", 0, "shown once", "static"),
    figure("free_way", 0, "free ways cost nothing", "static"),
    figure("one_story", 2, "never a tie", "static"),
    figure("least_slowed", 0, "any share of messages", "static"),
    figure("left_open", MANY, "any amount left open", "static"),
    figure("most_placed", MANY, "however long it takes", "static"),
    figure("rerouted_most", MANY, "all cables tried", "static"),
    Ablation(
        "_without_waiting",
        "ways on which messages wait are accused",
        patches=(patch_of(SETTLED, "_without_waiting", lambda _, made: list(made)),),
    ),
    Ablation(
        "_is_slow_without",
        "what is sure never waits",
        patches=(patch_of(SETTLED, "_is_slow_without", always),),
    ),
    Ablation(
        "_met",
        "what met a detour stays accused",
        "static",
        patches=(patch_of(SETTLED, "_met", never),),
    ),
    Ablation(
        "waiting (all of it)",
        "nothing waits behind something slow",
        patches=tuple(
            patch_of(module, "waiting", itself) for module in (OUT, SETTLED, FOLLOW, CROWDED)
        ),
    ),
)
CROWDING = (
    Ablation(
        "crowded (all of it)",
        "no way is crowded",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays.crowded", nothing),),
    ),
    *(
        Ablation(
            f"Look.{look}",
            "not looked at",
            "adaptive",
            patches=(patch_of(CROWDED, "SharedWays._found", without(look), wraps=True),),
        )
        for look in ("ALONE", "ALL")
    ),
    Ablation(
        "_both_ways",
        "each direction for itself",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays._both_ways", lambda _, __, clear: clear),),
    ),
    Ablation(
        "climbs",
        "up and down are one kind",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays._out_of_kind", one_kind, wraps=True),),
    ),
    Ablation(
        "shows_again",
        "need not show again",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays.shows_again", always),),
    ),
    Ablation(
        "_groups_with_suspects",
        "moments with something slow count",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays._groups_with_suspects", no_rows),),
    ),
    Ablation(
        "_behind",
        "what waited counts",
        "adaptive",
        patches=(patch_of(CROWDED, "SharedWays._behind", no_rows),),
    ),
    Ablation(
        "can_tell",
        "ways are accused by what is common to their readings, too",
        "adaptive",
        patches=(patch_of(SETTLED, "_is_of_shared_ways", never),),
    ),
    Ablation(
        "surely_slow",
        "full rounds accuse beside something surely slow",
        "adaptive",
        patches=(patch_of(SETTLED, "_is_sure_of_bandwidth", never),),
    ),
    Ablation(
        "_share",
        "what shares its slow readings stays accused",
        "adaptive",
        patches=(patch_of(SETTLED, "_share", never),),
    ),
    figure("peer_sigma", 0.5, "half a standard deviation out of its kind", "adaptive"),
    figure("crowded_margin", 0, "by no margin", "adaptive"),
    figure("crowded_peers", 1, "of any number", "adaptive"),
    figure("crowded_readings", 1, "of any number", "adaptive"),
    figure("beside_share", MANY, "whatever else was filled", "adaptive"),
)
PARTNERS = (
    Ablation(
        "other_partners (all of it)",
        "crowded ways are not measured again",
        "adaptive",
        patches=(patch_of(FOLLOW, "rounds_with_others", nothing),),
    ),
    Ablation(
        "_mixed",
        "with the same partners",
        "adaptive",
        patches=(patch_of(OTHERS, "_mixed", same_pairs),),
    ),
    Ablation(
        "_Room.admitted",
        "however much a port is asked for",
        "adaptive",
        patches=(patch_of(OTHERS, "_Room.admitted", every_pair),),
    ),
    Ablation(
        "follow_up (all of it)",
        "nothing is measured again",
        patches=(
            patch_of(
                "launches",
                "follow_up",
                lambda *_: __import__(f"{HOME}.{FOLLOW}", fromlist=["Plan"]).Plan((), ()),
            ),
        ),
    ),
    Ablation(
        "rounds again",
        "no round of the survey comes again",
        patches=(patch_of(FOLLOW, "_rounds_again", nothing),),
    ),
    Ablation(
        "controls",
        "no pairs that cross no suspect",
        patches=(patch_of(FOLLOW, "_Finder.controls", lambda *_: []),),
    ),
    Ablation(
        "lone pairs again",
        "lone pairs are not measured again",
        patches=(patch_of(FOLLOW, "_lone_pairs", lambda *_: []),),
    ),
    Ablation(
        "once more",
        "lone pairs twice, not three times",
        patches=(patch_of("launches", "follow_up", no_once_more, wraps=True),),
    ),
    Ablation(
        "_fill",
        "one flow however fast the cable",
        patches=(patch_of(FOLLOW, "_Finder._fill", lambda *_: 1),),
    ),
    figure("tests_a_suspect", 1, "one test"),
    figure("times_again", 1, "once"),
    figure("flows_looked_at", 20, "a twentieth of the flows"),
    figure("least_controls", MANY, "being alone is not levelled", changes_survey=True),
    Ablation(
        "disturbed (all of it)",
        "one reading in fifty, always",
        patches=(patch_of(SURVEYS, "shares", usual),),
        changes_survey=True,
    ),
    Ablation(
        "over_time (all of it)",
        "no stretch is left out",
        patches=(patch_of("verdict.verdict", "_spoiled", nothing),),
    ),
    Ablation(
        "bursts are no stretch",
        "rounds that fill single ways may be a stretch",
        "adaptive",
        patches=(patch_of("verdict.verdict", "_spoiled", episodes_only),),
    ),
    Ablation(
        "_most_of_one",
        "what one endpoint gives counts",
        patches=(patch_of(TIME, "episodes", episodes_by("_most_of_one", lambda *_: 0.0)),),
    ),
    Ablation(
        "_drift_at",
        "drift may be a stretch",
        patches=(
            patch_of(
                TIME,
                "episodes",
                episodes_by("_drift_at", lambda place, *_: np.zeros(place.size)),
            ),
        ),
    ),
    *(
        Ablation(name, how, patches=(patch_of(TIME, "episodes", episodes_with(**{name: value})),))
        for name, value, how in (
            ("longest_episode", 1, "all of the run"),
            ("fewest_rounds", 2, "of any number"),
            ("most_episodes", MANY, "any number of stretches"),
        )
    ),
)
COSTLY = {
    *("controls", "lone pairs again", "once more", "tests_a_suspect", "times_again"),
    *("flows_looked_at", "least_controls", "_fill", "rerouted_most"),
}
ABLATIONS = (*OUT_OF_USE, *CROWDING, *PARTNERS)
