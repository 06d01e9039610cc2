"""More writing prompts of the English example, for annotators who rate many; see ``story_texts``."""

from __future__ import annotations

from spa.examples.story_texts import Story

MORE_STORIES = (
    Story(
        prompt="A postman delivers the last letter ever written.",
        written=(
            "He could have slid it under the door. Instead he rang, and waited, and held it out with both hands. "
            "The woman looked at the stamp for a long time. 'It's only the water board,' she said. 'Yes,' said "
            "the postman, and neither of them moved to go in out of the cold."
        ),
        hero="the postman",
        thing="letter",
        trouble="nobody wrote to anybody any more",
        deed="rang the bell and waited",
        ending="a small thing can be the last of its kind",
    ),
    Story(
        prompt="A child hides in a museum overnight.",
        written=(
            "By ten the guards had stopped walking. The armour ticked as it cooled. Noor chose the room with the "
            "whale, lay down between its ribs and listened to her own heart, which sounded enormous there. In the "
            "morning they found her shoes lined up beside the rope, as if at a mosque or a bedside."
        ),
        hero="the child",
        thing="museum",
        trouble="the doors were locked until morning",
        deed="lay down below the bones of the whale",
        ending="a big place can feel like home",
    ),
    Story(
        prompt="The village well begins to answer questions.",
        written=(
            "It would only say how deep things were. How deep is my debt? Nine years. How deep is his love? Knee- "
            "high. People stopped asking by harvest, except Oren, who came each dusk, leaned over the stones and "
            "asked how deep the well was. 'Keep talking,' it said, and he always did."
        ),
        hero="the widow",
        thing="well",
        trouble="nobody liked the answers",
        deed="asked one more question",
        ending="some answers have no bottom",
    ),
    Story(
        prompt="A tailor sews a coat for somebody invisible.",
        written=(
            "He measured by the dents in the cushion. The sleeves he guessed from the way a teacup rose and "
            "stopped. When it was done the coat stood up, turned once before the mirror and stayed a while, "
            "looking. Nothing was paid, but the following week all his pins had been sorted by size."
        ),
        hero="the tailor",
        thing="coat",
        trouble="there was nobody to measure",
        deed="guessed every seam by hand",
        ending="good work is seen in the end",
    ),
    Story(
        prompt="Two chess players meet once a year for one move.",
        written=(
            "This year Petra came with a cane. She set down her knight, drank her coffee and asked after his "
            "daughters. They had reached the nineteenth move; at this pace, Emil reckoned, mate would fall in the "
            "year he turned one hundred and four. He lifted his bishop and put it, on purpose, nowhere in "
            "particular."
        ),
        hero="the player",
        thing="board",
        trouble="they were both growing old",
        deed="made a move that ended nothing",
        ending="a game is a way to stay friends",
    ),
    Story(
        prompt="A deaf dog guards an orchard.",
        written=(
            "Thieves learned quickly that they could sing. They sang on the ladders, they sang with their mouths "
            "full. What they did not learn was that Bruno felt each falling apple through his paws. He would let "
            "them fill one sack, because it was a warm night, and then stand up in the dark."
        ),
        hero="the dog",
        thing="orchard",
        trouble="the thieves came every night",
        deed="felt each step through the ground",
        ending="there is more than one way to listen",
    ),
    Story(
        prompt="The bus takes a road that is not on its route.",
        written=(
            "No one complained until the sea appeared. Then a man folded his newspaper and said that, strictly "
            "speaking, this was the 42 to the hospital. The driver opened all the doors. 'Five minutes,' she "
            "said. They stood along the rail in their work shoes, not speaking, and every one of them was late."
        ),
        hero="the driver",
        thing="bus",
        trouble="everybody had somewhere to be",
        deed="stopped where the road met the sea",
        ending="a wrong turn can be the right one",
    ),
    Story(
        prompt="A woman receives a stranger's dreams by mistake.",
        written=(
            "They were tidy dreams: drawers, ledgers, a canal in straight light. Hers, she supposed, had gone to "
            "him, with the wolves and the burning stairs. After a month she found an address in one of them, on "
            "an envelope, and went. The man who opened had not slept in weeks. 'Please,' he said, 'how do you "
            "stand it?'"
        ),
        hero="the woman",
        thing="dream",
        trouble="her nights belonged to somebody else",
        deed="went to find the other sleeper",
        ending="everyone carries more than can be seen",
    ),
    Story(
        prompt="The king's food taster loses his sense of taste.",
        written=(
            "He told no one. He chewed with great seriousness, nodded, and lived. The soups came and went like "
            "warm weather. What he noticed instead were the hands: whose shook when a dish was set down, who did "
            "not breathe until he swallowed. He had never been so good at the work in all his life."
        ),
        hero="the taster",
        thing="soup",
        trouble="one mistake would be the last",
        deed="watched the hands of the cooks",
        ending="losing one thing can sharpen another",
    ),
    Story(
        prompt="A lost glove looks for its pair.",
        written=(
            "It had the patience of leather. It lay on the railing where a kind person had put it, waving at "
            "every left hand that passed. Snow filled it, then rain, then a wren. By summer it no longer thought "
            "of itself as half of anything. There were four eggs, and it was keeping them warm."
        ),
        hero="the finder",
        thing="glove",
        trouble="the winter was long and wet",
        deed="left it where it could be seen",
        ending="whatever is lost can find a use",
    ),
    Story(
        prompt="A clown retires and buys a hardware shop.",
        written=(
            "For a week customers laughed when he said 'hinge'. He did not blame them. He weighed nails, he cut "
            "keys, he explained wall plugs with a gravity that surprised him. Then a boy came in, crying, with a "
            "broken kite. The old man looked at the door, then at the shelf, and slowly put a bucket on his head."
        ),
        hero="the clown",
        thing="bucket",
        trouble="people could not take him seriously",
        deed="made one sad child laugh",
        ending="nobody can leave a gift behind",
    ),
    Story(
        prompt="Rain falls upward for one afternoon.",
        written=(
            "It began with the puddles, which let go of the street all at once. Mothers held their children's "
            "ankles, out of habit. In the square the fountain emptied itself with a sigh. Then the ponds went, "
            "fish and all, glittering, and we stood dry and foolish under the loveliest weather any of us would "
            "ever have to explain."
        ),
        hero="the mayor",
        thing="puddle",
        trouble="the ponds were leaving the ground",
        deed="told everyone to look up",
        ending="wonder comes without a forecast",
    ),
    Story(
        prompt="An actor forgets who he is when the play ends.",
        written=(
            "They lead him home each night and show him his name on the bell. He is polite to his wife; he "
            "admires the flat. 'And what does he do, your husband?' he asks over the soup. She has learned to "
            "answer differently every evening. Last night she said, 'He is a very kind man,' and he played it."
        ),
        hero="the actor",
        thing="play",
        trouble="the curtain had fallen too early",
        deed="chose the part of a kind man",
        ending="we become what we repeat",
    ),
    Story(
        prompt="A cartographer draws an island that is not there.",
        written=(
            "It was a vanity, a thumbprint in the southern blank. Forty years on, the letters came: it had "
            "harbours now, a governor, a dispute over herring. He meant to confess. But there was a girl's letter "
            "among them, thanking him for the little cove on the western side, where she had learned to swim."
        ),
        hero="the cartographer",
        thing="island",
        trouble="ships had begun to sail for it",
        deed="kept it on the next map",
        ending="a thing that is named begins to exist",
    ),
    Story(
        prompt="A nurse works the night before the hospital closes.",
        written=(
            "There was one patient, and he was asleep. She did the rounds regardless, forty empty beds, "
            "straightening what was straight. At four the old man woke and asked what she was doing with the "
            "lights. 'Putting them out,' she said. 'Leave one,' he said. 'For whoever comes looking for the "
            "others.'"
        ),
        hero="the nurse",
        thing="lamp",
        trouble="all the other beds were empty",
        deed="walked the round one last time",
        ending="care does not end with a building",
    ),
    Story(
        prompt="The new teacher is younger than the pupils.",
        written=(
            "He stood on a crate to reach the board. The farmhands, who had come in from the fields to learn "
            "their letters at fifty, at sixty, took off their caps. 'This is an A,' said the boy. 'It is like a "
            "ladder.' Someone at the back began, very quietly, to weep, and copied it down."
        ),
        hero="the teacher",
        thing="board",
        trouble="the pupils were older than his father",
        deed="drew the letter like a ladder",
        ending="it is never too late to begin",
    ),
    Story(
        prompt="A thief breaks into a house and finds a party for him.",
        written=(
            "There was a cake with his name in icing, and all the silver was laid out by weight. 'We weren't sure "
            "you'd come,' said the old lady, taking his torch. She cut him the first slice. He was home before he "
            "saw that his watch was gone, and his gloves, and, when he thought about it, the habit."
        ),
        hero="the thief",
        thing="cake",
        trouble="everyone was looking at him",
        deed="sat down and ate the first slice",
        ending="a welcome is hard to rob",
    ),
    Story(
        prompt="A snow globe falls and the people inside look out.",
        written=(
            "For years the sky had been a thumb. Now there was a crack in it, and through the crack came the "
            "smell of toast. The baker went first, then the carol singers, then the man who had been about to "
            "cross the road. They stood at the edge of the shelf, holding hands, and no snow fell on them at all."
        ),
        hero="the baker",
        thing="globe",
        trouble="the sky had a crack in it",
        deed="stepped over the broken edge",
        ending="the world is bigger than its walls",
    ),
    Story(
        prompt="The mine's last canary is let go.",
        written=(
            "It would not leave the cage. We set it on the fence with the door tied back and went off to drink "
            "the owner's farewell beer. At dusk it was still there, singing at the pit head, short and long, "
            "short and long. Old Havel listened a while with his glass in his hand. Then he began to run."
        ),
        hero="the miner",
        thing="cage",
        trouble="the bird did not want to fly",
        deed="opened the door and waited",
        ending="old habits can save a life",
    ),
    Story(
        prompt="A translator is asked to translate a silence.",
        written=(
            "The two ministers looked at her. She had rendered the threats, the herring quotas, the joke about "
            "the goat. Now nobody had spoken for a minute. She leaned to the microphone. 'He says,' she said, "
            "'that his son is the same age as yours.' It was not in the record, but they signed before lunch."
        ),
        hero="the translator",
        thing="silence",
        trouble="neither side would say a word",
        deed="said what nobody had said",
        ending="silence has a language too",
    ),
    Story(
        prompt="A bridge keeper collects a story instead of a toll.",
        written=(
            "Merchants paid in scandal, soldiers in weather. A bride, late, told him only how the day had "
            "started. He wrote none of it down. When they came to pull the bridge apart they found that it would "
            "not fall; they drew the pins and it hung there, over nothing, held up by something that nobody had "
            "measured."
        ),
        hero="the keeper",
        thing="bridge",
        trouble="nobody carried any coins",
        deed="asked each traveller for a tale",
        ending="stories carry more than stones",
    ),
    Story(
        prompt="A gardener is sent to plant flowers on a battlefield.",
        written=(
            "The ground was full of iron, so she planted by ear: a click meant move along. By June there was a "
            "path of poppies between the lines, crooked as a drunk. Men on either side began to aim high. 'Mind "
            "the flowers,' the orders said, though nobody admitted to having written them, and nobody crossed."
        ),
        hero="the gardener",
        thing="flower",
        trouble="the ground was full of iron",
        deed="planted a crooked path",
        ending="beauty can hold back a war",
    ),
    Story(
        prompt="Every night the same moth comes to the same candle.",
        written=(
            "She took to lighting it later, then lower, then behind glass. It came and leaned there like someone "
            "reading over her shoulder. On the night the power returned to the island she turned off the bulb, "
            "found a match and sat in the dark a little ashamed, with the window open, waiting to be visited."
        ),
        hero="the writer",
        thing="candle",
        trouble="the wind blew through the window",
        deed="lit it again in the dark",
        ending="even a small light has a friend",
    ),
    Story(
        prompt="A detective is hired to find out who he was.",
        written=(
            "The file was thin. Subject owned one chair, paid in cash, hummed. A landlady recalled that he fed "
            "pigeons but never the same ones. He tailed himself through three cities and a marriage. On the last "
            "page, in his own hand, somebody had written: stop here, you were happy. He read it standing, hat on, "
            "in the rain."
        ),
        hero="the detective",
        thing="file",
        trouble="every trail led back to him",
        deed="read the last page in the rain",
        ending="some questions are better left open",
    ),
)
