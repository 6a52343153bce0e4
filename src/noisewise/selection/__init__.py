"""From a release to the weights of models: Bayes factors, information criteria, inclusion probabilities, averages.

    compare.py             compare, the public function; it wires the files below
    task.py                one checked comparison, and what a kind of release turns it into
    kinds/                 one file for each kind of release: gram by noisy moments, model by a quadratic log likelihood
    question.py            which terms are in question, and the columns of a gram release in working units
    methods.py             the methods that weigh models from noisy moments, by name
    moments.py             the released moments of all holders together, and how noisy they are
    weigher.py             Bayes factors of many models at a time: what both kinds share
    evidence.py            those from noisy moments, accounting for the noise; weighing.py has its linear algebra
    rounds.py              the quadratic log likelihood of the rounds of a model release
    quadratic.py           Bayes factors from it, and its bands
    subsets.py             without noise: R² of all subsets of the predictors; schema/bayes_factors.py integrates over g
    probabilities.py       prior probabilities, and the probabilities of all models if they can be listed
    walk.py                the models that matter, if there are too many to list
    averaged.py            draws of coefficients averaged over models
    bands.py               what the analysis without privacy noise might have said about each term, from noisy moments
"""
