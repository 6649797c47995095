"""The Positions tab's figures: every scheme's pictures, and what the schemes do for a trained model."""

from app.figures.position_schemes.alibi import alibi_figures
from app.figures.position_schemes.effect import effect
from app.figures.position_schemes.learned import learned_figures
from app.figures.position_schemes.parts import SCHEME_NAMES
from app.figures.position_schemes.reordered import reordered_figures
from app.figures.position_schemes.rope import rope_figures
from app.figures.position_schemes.sinusoidal import sinusoidal_figures
from app.figures.position_schemes.t5 import t5_bias_figures, t5_bucket_figures

__all__ = [
    "SCHEME_NAMES",
    "alibi_figures",
    "effect",
    "learned_figures",
    "reordered_figures",
    "rope_figures",
    "sinusoidal_figures",
    "t5_bias_figures",
    "t5_bucket_figures",
]
