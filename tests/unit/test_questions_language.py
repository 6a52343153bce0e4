"""The little language of questions: what it reads, what it refuses, and that it can be written back."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise.cli.questions import question_text, read_prior, read_question, read_questions
from noisewise.errors import DeclarationError
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question

QUESTIONS: list[tuple[str, Question]] = [
    ("posterior-probability of=x at=0,1", PosteriorProbability("x", [0, 1])),  # type: ignore[arg-type]
    ("posterior-probability of='x - 2*z' at=-1e-3 combine=fisher limit=0.01",
     PosteriorProbability({"x": 1, "z": -2}, [-0.001], "fisher", 0.01)),  # type: ignore[arg-type]
    ("posterior-quantile of=ward[T.B] bounds=-1,2.5", PosteriorQuantile("ward[T.B]", (-1, 2.5))),  # type: ignore[arg-type]
    ("posterior-quantile of=x centre-share=0.2", PosteriorQuantile("x", centre_share=0.2)),  # type: ignore[arg-type]
    ("bayes-factor of=x,z prior=zellner-siow", BayesFactor(["x", "z"], "zellner-siow")),  # type: ignore[arg-type]
    ("hypothesis-probability of=x limits=-3,3", BayesFactor(["x"], limits=(-3, 3))),  # type: ignore[arg-type]
    ('likelihood-ratio of="f(x, 2) , z"', Criterion("likelihood-ratio", ["f(x, 2)", "z"])),  # type: ignore[arg-type]
    ('bic of="a b"', Criterion("bic", ["a b"])),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("text", "question"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_questions_are_read_and_written_back(text: str, question: Question) -> None:
    assert read_question(text) == question
    assert read_question(question_text(question)) == question


def test_defaults_are_not_written() -> None:
    assert question_text(read_question("bayes-factor of=x prior=zellner")) == "bayes-factor of=x"
    assert question_text(read_question("aic of=x limits=-2,5")) == "aic of=x limits=-2,5"


@pytest.mark.parametrize(("text", "words"), [
    ("", "must begin with its name"),
    ("of=x", "must begin with its name"),
    ("median of=x", "must begin with the name of its kind"),
    ("posterior-probability of=x", "requires at="),
    ("posterior-probability at=0", "requires of="),
    ("posterior-probability of=x at=", "key=value"),
    ("posterior-probability of = x at=0", "key=value"),
    ("posterior-probability of=x, z at=0", "key=value"),
    ("posterior-probability of=x,z at=0", "one coefficient or one combination"),
    ("posterior-probability of=x at=a", "at must be a number"),
    ("posterior-probability of=x at=1_0", "at must be a number"),
    ("posterior-probability of=x at=١", "at must be a number"),
    ("posterior-probability of=x at=nan", "finite numbers"),
    ("posterior-probability of=x at=0,0", "different finite numbers"),
    ("posterior-probability of=x at=0 limit=99", "the limit of stouffer"),
    ("posterior-probability of=x at=0 combine=mean", "way to combine"),
    ("posterior-quantile of=x bounds=2,1", "the lower one first"),
    ("bayes-factor of=x,", "separated by commas"),
    ("bayes-factor of=,x", "separated by commas"),
    ("bayes-factor of=x,,z", "separated by commas"),
    ("bayes-factor of=x at=1", "not valid in a question of kind bayes-factor"),
    ("bayes-factor of=x of=z", "each key once"),
    ("bayes-factor of='x", "unclosed quotation mark"),
    ("bayes-factor of=x,x", "named only once"),
    ("bic of=x limits=1,2", "zero, which favours neither"),
])
def test_what_is_wrong_is_named_with_a_remedy(text: str, words: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        read_question(text)
    assert words in caught.value.rule and caught.value.found and caught.value.advice


def test_control_characters_are_made_visible() -> None:
    with pytest.raises(DeclarationError) as caught:
        read_question("\x1b[31m of=x")
    assert caught.value.found is not None and "\x1b" not in caught.value.found


def test_priors() -> None:
    assert read_prior(None) is None and read_prior("flat") == {"name": "flat"}
    assert read_prior("normal-inverse-gamma scale=1 shape=.5 rate=2") == {
        "name": "normal-inverse-gamma", "scale": 1.0, "shape": 0.5, "rate": 2.0}
    for text, words in (("zellner 10", "key=value"), ("zellner h=1", "not a parameter of any prior"),
                        ("zellner g=x", "g must be a number")):
        with pytest.raises(DeclarationError, match=words):
            read_prior(text)


def test_files_of_questions_stand_among_questions(tmp_path: Path) -> None:
    file = tmp_path / "questions.toml"
    file.write_text('[[questions]]\nask = "bayes-factor"\nof = ["x - z", "w"]\n\n[[questions]]\nask = "bic"\nof = "x"\n')
    found = read_questions(["aic of=x", str(file), "bic of=w"])
    assert [question.ask for question in found] == ["aic", "bayes-factor", "bic", "bic"]
    assert read_questions(None) == read_questions([]) == []


def test_a_question_about_a_name_like_that_of_a_file_is_a_question() -> None:
    assert read_questions(["aic of=x.toml"]) == [Criterion("aic", ["x.toml"])]  # type: ignore[arg-type]


def test_a_file_of_questions_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="file of questions.*check the path"):
        read_questions([str(tmp_path / "questions.toml")])


@pytest.mark.parametrize(("text", "words"), [
    ("", r"\[\[questions\]\] tables only"),
    ("questions = []", r"\[\[questions\]\] tables only"),
    ("[[question]]\nask = 'bic'", r"\[\[questions\]\] tables only"),
    ("[[questions]]\nask = 'bic'\nof = 'x'\n[more]\na = 1", r"\[\[questions\]\] tables only"),
    ("questions = [1]", "a question must state what it asks"),
    ("[[questions]]\nask = 'bic'\nat = 1", "wrong fields for a"),
    ("[[questions", "not valid TOML"),
    ("\udcff", "UTF-8"),
])
def test_files_that_are_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "questions.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DeclarationError, match=words):
        read_questions([str(file)])
