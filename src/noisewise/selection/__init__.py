"""From a release to the weights of models: Bayes factors, information criteria, inclusion probabilities, averages.

    information.py         what a release says about the slopes, with its noise, in the form of an exact table
    subsets.py             determinants and unexplained rests of all subsets of the predictors
    coefficient_priors.py  mixtures of g-priors, and information criteria
    model_priors.py        prior probabilities of models
    evidence.py            Bayes factors of all models
"""
