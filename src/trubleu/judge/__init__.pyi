from trubleu.judge.pairs.judge import judge_pairs as judge_pairs
from trubleu.judge.pairs.results import PairsReport as PairsReport
from trubleu.judge.pairs.results import Protocol as Protocol
from trubleu.judge.ratings.judge import judge_ratings as judge_ratings
from trubleu.judge.ratings.results import RatingsReport as RatingsReport
from trubleu.judge.ratings.results import SetsReport as SetsReport
from trubleu.judge.ratings.results import judge_sets as judge_sets
