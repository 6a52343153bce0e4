"""From a release to the weights of models: Bayes factors, information criteria, inclusion probabilities, averages.

    compare.py             compare, the public function; it wires the files below
    methods.py             the methods that weigh models from noisy moments, by name
    question.py            which terms are in question, and their columns in working units
    moments.py             the released moments of all holders together, and how noisy they are
    evidence.py            Bayes factors of models, accounting for the noise; weighing.py has its linear algebra
    subsets.py             the same without noise: R² of all subsets of the predictors; schema/bayes_factors.py integrates over g
    probabilities.py       prior probabilities, and the probabilities of all models if they can be listed
    walk.py                the models that matter, if there are too many to list
    averaged.py            draws of coefficients averaged over models
    bands.py               what the analysis without privacy noise might have said about each term
"""
