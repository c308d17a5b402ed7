# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The hand-written lexicon of the controlled discourse corpus: nouns by the predicates that fit them, predicates,
habits, openings of dialogues, words with two translations, and neutral sentences."""

from importlib import resources
from typing import NamedTuple

import yaml


class Noun(NamedTuple):
    """An English noun and its French translation, each with its plural, and the French gender."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    is_feminine: bool


class Predicate(NamedTuple):
    """A predicate of a thing, without its subject: English singular and plural; French by gender and number."""

    english: str
    english_plural: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str

    def french(self, is_feminine: bool, is_plural: bool) -> str:
        """The French form that agrees with the subject."""
        return self[2 + is_feminine + 2 * is_plural]


class Action(NamedTuple):
    """An action done to a thing: English with "{it}" for it or them; the French participle by gender, which agrees with
    the preceding pronoun."""

    english: str
    masculine: str
    feminine: str


class NounClass(NamedTuple):
    """Nouns that share predicates and an action, with equally many masculine and feminine nouns.

    The predicates and the action of a class fit no noun of another class.
    """

    name: str
    masculine: tuple[Noun, ...]
    feminine: tuple[Noun, ...]
    predicates: tuple[Predicate, ...]
    action: Action
    has_colour: bool = False

    def nouns(self, is_feminine: bool) -> tuple[Noun, ...]:
        """The nouns of one gender."""
        return self.feminine if is_feminine else self.masculine


class Colour(NamedTuple):
    """An adjective of colour: English, and French by gender."""

    english: str
    masculine: str
    feminine: str


class TwoSenses(NamedTuple):
    """An English word with two translations: for each sense sentences that state the topic, and sentences with the
    word.

    `topics` has for each of the two senses pairs (English, French) with "{name}" for a person. `sentences` has
    (English, French in the first sense, French in the second).
    """

    english: str
    topics: tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
    sentences: tuple[tuple[str, str, str], ...]


class Habit(NamedTuple):
    """A habit: English verb in the third person, French verb in the third person."""

    english: str
    french: str


def _nouns(is_feminine: bool, *rows: str) -> tuple[Noun, ...]:
    """Nouns from "english/french"; irregular plurals follow a comma: "english,plural/french,plural"."""
    nouns = []
    for row in rows:
        english, french = (side.split(",") for side in row.split("/"))
        nouns.append(Noun(english[0], _plural(english), french[0], _plural(french), is_feminine))
    return tuple(nouns)


def _plural(forms: list[str]) -> str:
    return forms[1] if len(forms) > 1 else f"{forms[0]}s"


def _is(english: str, adjective: str, rest: str = "", feminine: str = "") -> Predicate:
    """A predicate "is ..." whose French adjective or participle agrees; `feminine` if it does not add an "e"."""
    feminine = feminine or f"{adjective}e"
    last = adjective.rpartition(" ")[2]
    plural = adjective if last.endswith(("s", "x")) else f"{adjective}s"
    forms = (f"est {adjective}", f"est {feminine}", f"sont {plural}", f"sont {feminine}s")
    return Predicate(f"is {english}", f"are {english}", *(f"{form} {rest}".strip() for form in forms))


def _does(english: str, english_plural: str, french: str, french_plural: str) -> Predicate:
    """A predicate whose French verb agrees in number only."""
    return Predicate(english, english_plural, french, french, french_plural, french_plural)


def _two_senses() -> tuple[TwoSenses, ...]:
    text = resources.files(__package__).joinpath("two_senses.yaml").read_text(encoding="utf-8")
    words = []
    for row in yaml.safe_load(text):
        first, second = (tuple(map(tuple, sense)) for sense in row["topics"])
        words.append(TwoSenses(row["english"], (first, second), tuple(map(tuple, row["sentences"]))))
    return tuple(words)


NOUN_CLASSES = (
    NounClass(
        "device",
        _nouns(False, "phone/téléphone", "radiator/radiateur", "fan/ventilateur"),
        _nouns(True, "lamp/lampe", "kettle/bouilloire", "drill/perceuse"),
        (
            _is("switched off", "éteint"),
            _is("plugged in", "branché"),
            _is("unplugged", "débranché"),
        ),
        Action("switched {it} off", "éteint", "éteinte"),
        has_colour=True,
    ),
    NounClass(
        "text",
        _nouns(False, "book/livre", "novel/roman", "newspaper/journal,journaux"),
        _nouns(True, "letter/lettre", "magazine/revue", "brochure/brochure"),
        (
            _is("easy to read", "facile", "à lire", feminine="facile"),
            _is("well written", "bien écrit"),
            _is("badly translated", "mal traduit"),
        ),
        Action("read {it}", "lu", "lue"),
        has_colour=True,
    ),
    NounClass(
        "garment",
        _nouns(False, "coat/manteau,manteaux", "hat/chapeau,chapeaux", "sweater/pull"),
        _nouns(True, "shirt/chemise", "jacket/veste", "dress,dresses/robe"),
        (
            _does("no longer fits Paul", "no longer fit Paul", "ne va plus à Paul", "ne vont plus à Paul"),
            Predicate(
                "needs ironing",
                "need ironing",
                "doit être repassé",
                "doit être repassée",
                "doivent être repassés",
                "doivent être repassées",
            ),
            _does(
                "goes well with these shoes",
                "go well with these shoes",
                "va bien avec ces chaussures",
                "vont bien avec ces chaussures",
            ),
        ),
        Action("ironed {it}", "repassé", "repassée"),
        has_colour=True,
    ),
    NounClass(
        "dish",
        _nouns(False, "cake/gâteau,gâteaux", "stew/ragoût", "sandwich,sandwiches/sandwich"),
        _nouns(True, "soup/soupe", "tart/tarte", "pizza/pizza"),
        (
            _is("delicious", "délicieux", feminine="délicieuse"),
            _is("ready to eat", "prêt", "à manger"),
            _is("too salty", "trop salé"),
        ),
        Action("eaten {it}", "mangé", "mangée"),
    ),
    NounClass(
        "animal",
        _nouns(False, "cat/chat", "dog/chien", "horse/cheval,chevaux"),
        _nouns(True, "mouse,mice/souris,souris", "cow/vache", "giraffe/girafe"),
        (
            _does("is hungry", "are hungry", "a faim", "ont faim"),
            _is("asleep", "endormi"),
            _does("is thirsty", "are thirsty", "a soif", "ont soif"),
        ),
        Action("fed {it}", "nourri", "nourrie"),
    ),
    NounClass(
        "vehicle",
        _nouns(False, "bus,buses/bus,bus", "truck/camion", "tractor/tracteur"),
        _nouns(True, "car/voiture", "motorbike/moto", "van/camionnette"),
        (
            _is("parked in the street", "garé", "dans la rue"),
            _does("has a flat tyre", "have a flat tyre", "a un pneu crevé", "ont un pneu crevé"),
            _does("has run out of petrol", "have run out of petrol", "n'a plus d'essence", "n'ont plus d'essence"),
        ),
        Action("parked {it}", "garé", "garée"),
        has_colour=True,
    ),
    NounClass(
        "building",
        _nouns(False, "museum/musée", "castle/château,châteaux", "theatre/théâtre"),
        _nouns(True, "library,libraries/bibliothèque", "station/gare", "pharmacy,pharmacies/pharmacie"),
        (
            _does("opens at nine o'clock", "open at nine o'clock", "ouvre à neuf heures", "ouvrent à neuf heures"),
            _is("closed on Mondays", "fermé", "le lundi"),
            _does("has three floors", "have three floors", "a trois étages", "ont trois étages"),
        ),
        Action("visited {it}", "visité", "visitée"),
        has_colour=True,
    ),
    NounClass(
        "instrument",
        _nouns(False, "piano/piano", "violin/violon", "cello/violoncelle"),
        _nouns(True, "guitar/guitare", "flute/flûte", "trumpet/trompette"),
        (
            _is("out of tune", "désaccordé"),
            _is("difficult to play", "difficile", "à jouer", feminine="difficile"),
            _is("perfectly in tune", "parfaitement accordé"),
        ),
        Action("tuned {it}", "accordé", "accordée"),
        has_colour=True,
    ),
)

# The two forms differ: beside the noun the colour shows the gender, too.
COLOURS = (
    Colour("purple", "violet", "violette"),
    Colour("green", "vert", "verte"),
    Colour("blue", "bleu", "bleue"),
    Colour("black", "noir", "noire"),
    Colour("white", "blanc", "blanche"),
    Colour("grey", "gris", "grise"),
)
# Things that a coloured thing is compared with.
COLOURED_AS = (("The door", "La porte"), ("The curtain", "Le rideau"), ("The wall", "Le mur"))

NAMES = ("Anna", "Emma", "Julie", "Lucas", "Marie", "Paul", "Thomas", "Victor")
# Actions that somebody can do with any thing.
ENCOUNTERS = (
    ("sees", "voit"),
    ("draws", "dessine"),
    ("looks for", "cherche"),
    ("finds", "trouve"),
    ("paints", "peint"),
    ("photographs", "photographie"),
)
NUMBERS = (("two", "deux"), ("three", "trois"), ("four", "quatre"), ("five", "cinq"))

# (English, French): openings after which people say "vous", and others after which they say "tu".
FORMAL_OPENINGS = tuple(
    (f"{english}, {title} {name}.", f"{french}, {french_title} {name}.")
    for english, french in (("Good morning", "Bonjour"), ("Good evening", "Bonsoir"))
    for title, french_title in (("Mrs", "madame"), ("Mr", "monsieur"))
    for name in ("Martin", "Bernard", "Petit", "Durand")
)
INFORMAL_OPENINGS = tuple(
    (f"{english}, {name}!", f"{french}, {name} !")
    for english, french in (("Hi", "Salut"), ("Hey", "Coucou"))
    for name in NAMES
)
# (English, French with "vous", French with "tu").
ADDRESSES = (
    ("Do you have the key?", "Avez-vous la clé ?", "As-tu la clé ?"),
    ("You are right.", "Vous avez raison.", "Tu as raison."),
    ("Are you coming tomorrow?", "Venez-vous demain ?", "Viens-tu demain ?"),
    ("Where do you live?", "Où habitez-vous ?", "Où habites-tu ?"),
    ("Can you help me?", "Pouvez-vous m'aider ?", "Peux-tu m'aider ?"),
    ("You can sit here.", "Vous pouvez vous asseoir ici.", "Tu peux t'asseoir ici."),
    ("I will call you tonight.", "Je vous appellerai ce soir.", "Je t'appellerai ce soir."),
    ("What do you think?", "Qu'en pensez-vous ?", "Qu'en penses-tu ?"),
    ("Do you know the way?", "Connaissez-vous le chemin ?", "Connais-tu le chemin ?"),
    ("I believe you.", "Je vous crois.", "Je te crois."),
)

TWO_SENSES = _two_senses()

HABITS = (
    Habit("swims", "nage"),
    Habit("dances", "danse"),
    Habit("sings", "chante"),
    Habit("smokes", "fume"),
    Habit("cooks", "cuisine"),
    Habit("skis", "skie"),
    Habit("travels", "voyage"),
    Habit("runs", "court"),
)
HABIT_TIMES = (("every day", "tous les jours"), ("all the time", "tout le temps"), ("on Sundays", "le dimanche"))

# They name no thing, contain no action that "does" could refer to, address nobody and state no topic.
NEUTRAL = (
    ("The evening is quiet.", "La soirée est calme."),
    ("Nobody is at home.", "Personne n'est à la maison."),
    ("The weather is fine.", "Le temps est au beau."),
    ("The sky is clear tonight.", "Le ciel est dégagé ce soir."),
    ("There is a lot of noise outside.", "Il y a beaucoup de bruit dehors."),
    ("Today is a holiday.", "Aujourd'hui, c'est un jour férié."),
    ("The summer is almost over.", "L'été est presque fini."),
    ("Everything is ready.", "Tout est prêt."),
    ("{name} is in the next room.", "{name} est dans la pièce voisine."),
    ("{name} is in a good mood.", "{name} est de bonne humeur."),
    ("{name} is not here.", "{name} n'est pas là."),
    ("{name} is late this morning.", "{name} est en retard ce matin."),
)
