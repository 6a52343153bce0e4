"""From a release to the weights of models: Bayes factors, information criteria, inclusion probabilities, averages.

    compare.py             compare, the public function; it wires the files below
    methods.py             the ways from noisy moments to weighed models, by name
    question.py            which terms are in question, and the columns of each in working units
    moments.py             the released moments of all holders together, and how noisy they are
    evidence.py            Bayes factors of models, the noise taken account of; weighing.py has its linear algebra
    subsets.py             the same without noise: R² of all subsets of the predictors; schema/bayes_factors.py integrates over g
    probabilities.py       all models where they can be listed, and their prior probabilities; walk.py: those that matter, where
                           they cannot be
    averaged.py            draws of coefficients averaged over models
    bands.py               what the analysis without privacy noise may have said about each term
"""
