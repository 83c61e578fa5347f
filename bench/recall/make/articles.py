"""Articles that were written for this corpus: a title and paragraphs each."""

ARTICLES = {
    'forebay': ('What a forebay does', [
        'A forebay is a small basin in front of a dam, a pump station or a treatment plant. Water waits there for a short time, so that the machines behind it never see the river as it is, with its waves, its branches and its sudden floods.',
        'The basin at Harrow Mill holds forty thousand cubic metres, which is what the turbines take in eleven minutes. That sounds like little, but it is enough to close the gates one after the other when a turbine stops without warning.',
        'Coarse dirt sinks to the ground of the basin. Twice a year the keepers lower the water by night and take out between six and nine hundred tonnes of gravel, which the road office buys for four euros a tonne.',
        'In the dry summer of 2022 the level fell below the upper sill for nineteen days. The keepers found that the old float gauge had shown eight centimetres too much since it was painted, and replaced it with a radar probe.',
        'Engineers who plan a new station today often ask for a basin twice as large. The director of the mill disagrees: a larger basin grows more weed, and weed, he says, is what stops turbines.',
    ]),
    'sleeper': ('The night train comes back', [
        'After nine years without a sleeping car, the line between the coast and the mountains has a night train again. It leaves the harbour at 21:52 and arrives below the glacier at 7:14, in time for the first bus.',
        'The cars are older than most of their passengers. They were built in 1987, stood in a shed for a decade, and were rebuilt in fourteen months by a workshop that had otherwise repaired trams.',
        'A bed costs 59 euros in spring. The operator says that it needs 140 passengers a night to cover its costs, and that it had 171 on average in the first ten weeks.',
        'Not everything works yet. Hot water ran out on the third night, and the reservation system sold the same compartment twice; the second family slept in the dining car and got their money back.',
        'Whether the train runs in winter depends on a bridge. The crossing at Arven may carry no more than two locomotives at once until its bearings are exchanged, and heavy snow needs three.',
    ]),
    'migration': ('How we moved two billion rows without a maintenance window', [
        'Our orders table had outgrown its disk. It held two billion rows, took writes at every hour of the day, and could not be locked for longer than a few hundred milliseconds before the shop noticed.',
        'We first wrote every new row twice, into the old table and into the new one, and compared both in the background. The comparison found 311 differences in the first week, all of them caused by a trigger that nobody remembered.',
        'Then we copied the old rows in batches of 20,000, ordered by primary key. Smaller batches wasted time on commits, larger ones let the replicas fall behind by more than two seconds.',
        'The switch itself was one rename in a transaction with a lock timeout of 150 milliseconds. It failed eleven times because a long report held a lock, and worked at the twelfth attempt, at 4:37 in the morning.',
        'If we did it again we would write the comparison first. Everything that went wrong was found by it, and nothing that it missed turned out to matter.',
    ]),
    'bread': ('Why the second rise matters', [
        'Bread dough rises twice, and bakers disagree about which rise is more important. The first one builds taste, because yeast and bacteria have time to work; the second one gives the loaf its shape.',
        'In our kitchen we baked thirty loaves from the same flour and changed only the time of the second rise. Loaves that rested for less than twenty-five minutes tore at the side, and those that rested for longer than ninety fell flat when they were cut.',
        'The best loaves had rested for fifty-five minutes at 26 degrees. A finger pressed into such a dough leaves a dent that fills slowly and never quite disappears.',
        'Rye behaves differently. It holds no net of gluten, so its second rise ends when fine cracks show in the flour on top, after about forty minutes in a warm room.',
        'Cold helps those who have no time: a shaped loaf may wait for up to fourteen hours at 5 degrees and goes from the fridge straight into the oven.',
    ]),
    'bees': ('Counting bees with a microphone', [
        'A healthy colony hums at about 250 hertz. When the queen is missing the tone falls and grows uneven, and an experienced keeper hears it through the wall of the hive.',
        'Lucia Ferri has put microphones into 64 hives and lets a small computer listen. It reports three numbers an hour: loudness, pitch, and how much the pitch wanders.',
        'In the first season the system warned of 17 lost queens. Keepers confirmed 15 of them; the other two hives had been opened by a marten.',
        'Power is the hard part. A solar panel of the size of a postcard suffices from April to September, while in November the computer may wake only four times a day.',
        'The plans are free for everybody, but Ferri warns against buying the cheapest microphones. Wax and propolis close them within a month.',
    ]),
    'outage': ('What happened on 12 March', [
        'On 12 March between 9:14 and 10:51 UTC about one request in three to our interface was answered with status 503. No data was lost. We are sorry, and here is what happened.',
        'At 9:11 we rolled out a new version of the gateway. It opened a connection to the session store for each request instead of sharing a pool, because a default value had changed in the library that we had updated along with it.',
        'The session store accepts 10,000 connections. It reached this limit at 9:14, and from then on refused new ones. The health check of the gateway used a connection that was already open, so the gateway looked healthy.',
        'We began to roll back at 9:40. The roll-back itself stalled, since new instances could not connect either, and finished only after we had restarted the session store at 10:44.',
        'The pool size is now set explicitly, the health check opens a connection of its own, and an alarm tells us when three quarters of the connections are used.',
    ]),
    'bridge': ('A bridge that reports its own weight', [
        'The footbridge over the Lenne weighs 212 tonnes, and since May it says so itself. Sensors in its four bearings measure the load twice a second.',
        'The city wanted to know how crowded the bridge gets at the summer fair. On the first evening the sensors showed 341 tonnes at 22:05, which means about 1,800 people at the same time.',
        'Snow surprised everybody. In January the bridge grew heavier by 38 tonnes within a night, more than twice of what the planners had assumed.',
        'The measurement costs 2,300 euros a year, most of it for the telephone line. An inspection by hand costs 9,000 and shows one moment only.',
        'One bearing drifts. It shows half a tonne more every month, although the others show no change, and will be exchanged in autumn.',
    ]),
    'tides': ('Reading a tide table', [
        'A tide table has one line a day and four times in each line: two high waters and two low ones, with the height of each in metres above chart datum.',
        'Times are given in winter time throughout the year in our table. From the end of March to the end of October you add an hour yourself, and forgetting it is the most common mistake.',
        'Between high and low water the sea does not fall evenly. In the first of six hours it falls by one twelfth of the whole range, then by two, three, three, two and one twelfths.',
        'Wind changes everything. A strong wind from the west keeps the water in the bay, and low water may come forty minutes late and half a metre higher than printed.',
        'Walkers should be back on the dike two hours after low water. The tideways fill from behind, where nobody looks.',
    ]),
}
