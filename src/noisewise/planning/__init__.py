"""What a release would be worth before anything is spent: from public declarations, by simulation, never from rows.

    release_plan.py                          `plan`: noise, price and promise of any kind of release
    gram.py, moments.py, rows.py             how much noise a release of that kind would have, beside others
    partition.py, partition_answers.py       `suggest_parts`: numbers of parts, and how good their answers would be
    power.py, smallest.py                    `plan_power`: widths and power; the least epsilon, or the fewest rows, for an effect
    assumptions.py, population.py            what is taken for true about columns and response, and sums of tables that could be
    noise.py, simulation.py, intervals.py    releases of them, with noise from a seed, which protects nobody, and fits to these
    pictures.py                              drawings of plans
    budget.py                                what intended releases cost together
"""
