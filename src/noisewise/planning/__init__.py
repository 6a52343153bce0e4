"""What a release would be worth, before anything is spent: from public declarations and simulation, never from rows.

    release_plan.py                          `plan`: noise, cost and guarantee of a release of any kind
    gram.py, moments.py, rows.py             the noise of a release of that kind, compared with others
    partition.py, partition_answers.py       `suggest_parts`: numbers of parts, and how good their answers would be
    power.py, smallest.py                    `plan_power`: widths and power; the least epsilon, or the fewest rows, for an effect
    assumptions.py, population.py            assumptions about columns and response, and sums of hypothetical tables
    noise.py, simulation.py, intervals.py    simulated releases, whose seeded noise protects nobody, and fits to them
    pictures.py                              plots of plans
    budget.py                                the joint cost of planned releases
"""
