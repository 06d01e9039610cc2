"""Writing prompts of the English example, with a short story written by hand for each.

``hero`` to ``ending`` are what the formula fills in and what the parrot repeats.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A prompt, a story for it, and the words that the simpler writers use."""

    prompt: str
    written: str
    hero: str
    thing: str
    trouble: str
    deed: str
    ending: str


STORIES = (
    Story(
        prompt="The lighthouse keeper finds a letter addressed to the light itself.",
        written=(
            "The envelope was damp and addressed, in a child's capitals, to THE LIGHT. Osk read it standing up. "
            "Dear light, it said, my father is on the trawler and cannot swim, so please do not blink. Osk had "
            "kept the lamp for thirty years without once thinking of it as a promise. That night he turned off "
            "the timer and sat beside the glass with his thumb on the switch, awake until the boats came in."
        ),
        hero="the keeper",
        thing="letter",
        trouble="nobody had written to the tower before",
        deed="read every line twice and answered it",
        ending="the light belonged to everyone at sea",
    ),
    Story(
        prompt="Every clock in the village stops except one.",
        written=(
            "Only the cracked watch on the butcher's wrist went on. By noon the whole street was queueing at his "
            "counter, not for chops but for the time, which he gave out carefully, like change. Weddings waited "
            "for him. So did eggs. When the other clocks started again in spring, nobody told him, and people "
            "still came in, glanced at the tower behind his back, and asked him what hour it was."
        ),
        hero="the butcher",
        thing="clock",
        trouble="the whole village was late for everything",
        deed="told the hour to anyone who asked",
        ending="time is something that people share",
    ),
    Story(
        prompt="A baker discovers that her bread makes people tell the truth.",
        written=(
            "It was the rye. One slice, and the mayor told his wife where the bridge money had gone. Two, and Mrs "
            "Pell admitted she had never liked the vicar's singing, nor the vicar. Hanne thought of burning the "
            "starter. Instead she cut the thinnest piece she could and ate it alone, over the sink. 'I'm lonely,' "
            "she heard herself say, quite calmly, and then she put on her coat and went to knock next door."
        ),
        hero="the baker",
        thing="bread",
        trouble="everybody in town knew too much",
        deed="baked one more loaf and tasted it",
        ending="honesty needs a gentle hand",
    ),
    Story(
        prompt="Two strangers share an umbrella without speaking.",
        written=(
            "He was tall, so he held it; she was dry, so she steered. At the crossing she touched his sleeve and "
            "they turned left together, as if they had agreed on it. Past the bank, past the shuttered cinema, "
            "their steps fell into one rhythm. At the station the rain stopped, almost rudely. He folded the "
            "umbrella and held it out. She shook her head, pointed at the sky over his side of town, and ran for "
            "her train."
        ),
        hero="the stranger",
        thing="umbrella",
        trouble="the rain would not stop all evening",
        deed="held it over both of them",
        ending="kindness does not need words",
    ),
    Story(
        prompt="The last librarian on a space station receives an overdue book.",
        written=(
            "The book came back in a mail pod, two hundred and six years late, its spine mended with hull tape. "
            "Somebody had pencilled notes in the margins in four different hands; the last of them was a child's. "
            "Ilse worked out the fine, which came to more than the station had cost, and stamped it PAID. Then "
            "she turned to the first page, in an empty reading room above a blue planet, and began to read the "
            "notes."
        ),
        hero="the librarian",
        thing="book",
        trouble="no one had visited the station for years",
        deed="opened it and read the notes inside",
        ending="a story always finds its way home",
    ),
    Story(
        prompt="A boy teaches his grandmother to use a video call.",
        written=(
            "'You're showing me the ceiling again, Nan.' The picture swung past a lampshade, a cat, a great pink "
            "thumb. Then her face, much too close, frowning as if down a well. 'Is that you in there?' It was. He "
            "taught her the green button and the red one. She taught him, by holding each thing up to the lens, "
            "how to fold a dumpling. He burned the first nine. The tenth he held up to the screen, and she "
            "applauded, out of sight."
        ),
        hero="the boy",
        thing="screen",
        trouble="his grandmother could not find the button",
        deed="explained it slowly from the start",
        ending="distance is smaller than it looks",
    ),
    Story(
        prompt="A mountain guide leads someone who does not want to reach the top.",
        written=(
            "'How much further?' he kept asking, and each time I told him, his shoulders fell a little: not "
            "tired, disappointed. At the last ridge he sat down on the snow. His brother had wanted the summit, "
            "he said; it was the brother's ticket, the brother's boots. 'If I get there, that's the end of it.' "
            "So we drank our tea a hundred metres below the top, in perfect weather, and left him something to "
            "come back for."
        ),
        hero="the guide",
        thing="mountain",
        trouble="the other climber walked slower and slower",
        deed="stopped below the ridge and listened",
        ending="not every road has to be finished",
    ),
    Story(
        prompt="The town's oldest tree has to be cut down.",
        written=(
            "They gave everyone a week. Couples came to find their initials and could not, the bark had carried "
            "them so high. Old Marsh measured it for a table, then put the tape away. On the Friday the saw took "
            "eleven minutes. What nobody had expected was the light: kitchens that had been dim for a century "
            "filled with it, and people stood at their sinks, blinking, not yet able to say whether they minded."
        ),
        hero="the forester",
        thing="tree",
        trouble="its roots had reached the old houses",
        deed="planted a small one in its place",
        ending="an ending can be a beginning",
    ),
    Story(
        prompt="Someone finds a phone that only calls the past.",
        written=(
            "It had one number in it: ours, from the old flat. I let it ring a long while before I heard my own "
            "voice, nineteen and in a hurry. I had meant to warn her about the job, the bike, the winter. 'Who is "
            "this?' she said, and behind her I could hear Dad whistling in the kitchen, badly, the way he did. "
            "'Wrong number,' I told her. 'Sorry. Could you just leave the line open for a minute?'"
        ),
        hero="the finder",
        thing="phone",
        trouble="every call went to a day long gone",
        deed="called home one last time",
        ending="the past can be heard but not changed",
    ),
    Story(
        prompt="A violinist plays every evening for one listener across the courtyard.",
        written=(
            "The window opposite opened at seven, so at seven she played. She never saw more than a sleeve on the "
            "sill. When she botched the slow movement the sleeve stayed; when she showed off, it withdrew. In a "
            "year she had learned more from that elbow than from any teacher. Then one evening the window stayed "
            "dark. She played regardless, plainly, without a flourish, and somewhere above her, from another "
            "floor, a second window opened."
        ),
        hero="the violinist",
        thing="window",
        trouble="one evening nobody was there",
        deed="played the whole piece all the same",
        ending="someone is always listening",
    ),
    Story(
        prompt="A robot is asked to water a garden while its owner is away.",
        written=(
            "Day 1: watered. Day 2: watered. Day 9: rain; did not water; felt, if the word may be used, "
            "unnecessary. Day 15: a snail on the lettuce. Instructions do not mention snails. Carried it to the "
            "neighbour's garden. Day 16: snail has returned. Carried it further. Day 23: have begun leaving it "
            "one leaf, the outermost. Day 30: owner returns tomorrow. All plants alive. One lettuce, regrettably, "
            "is now inhabited."
        ),
        hero="the robot",
        thing="garden",
        trouble="the owner stayed away longer than planned",
        deed="watered every plant each morning",
        ending="care is more than following orders",
    ),
    Story(
        prompt="A ferry makes its final crossing before the bridge opens.",
        written=(
            "On the last run they let everyone on free, and nobody had anywhere to go. Children hung over the "
            "rail. The woman who sold tea gave up counting cups. In midstream Captain Adair cut the engine, as he "
            "had never once done, and the river took over the talking. Above them the new bridge stood finished "
            "and empty, its lamps just coming on, like somebody waiting politely at the edge of a party for the "
            "guests to leave."
        ),
        hero="the captain",
        thing="ferry",
        trouble="the new bridge would open in the morning",
        deed="steered across the river once more",
        ending="every crossing leaves its mark",
    ),
)
