"""What a release would be worth, before anything is spent: from public declarations and simulation, never from rows.

    release_plan.py                          `plan`: noise, cost and guarantee of a release of any kind
    model_words.py                           what there is to say about a model release beside its noise
    gram.py, moments.py, rows.py             the noise of a release of that kind, compared with others
    partition.py, partition_answers.py       `suggest_parts`: numbers of parts, and how good their answers would be
    power.py, smallest.py                    `plan_power`: widths and power; the least epsilon, or the fewest rows, for an effect
    question.py, comparison.py               the kinds that serve a regression, and which is better for it
    assumptions.py, population.py            assumptions about columns and response, and sums of hypothetical tables
    tables.py                                the first look and the rounds of a model release over hypothetical tables
    noise.py, simulation.py, intervals.py    simulated releases, whose seeded noise protects nobody, and fits to them
    model.py                                 simulated model releases
    pictures.py                              plots of plans
    budget.py                                the joint cost of planned releases
"""
