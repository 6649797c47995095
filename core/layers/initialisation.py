"""Weight initialisation schemes; each model calls its own."""

from __future__ import annotations

from torch import nn

from core.layers.attention import Attention
from core.layers.feedforward import FeedForward
from core.layers.positions import Learned, T5Bias


def xavier(model: nn.Module, d_model: int) -> None:
    """Matrices U(±√(6 / (in + out))), biases 0 (Glorot & Bengio 2010); token vectors N(0, 1/d), positions N(0, 1)."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            _zero_bias(module)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=1.0 if isinstance(module, Learned) else d_model**-0.5)


def normal(model: nn.Module, std: float = 0.02) -> None:
    """Matrices and embeddings N(0, std²), biases 0 (BERT, GPT)."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear):
            _zero_bias(module)


def scale_residual_projections(model: nn.Module, n_layers: int) -> None:
    """Divide the projections into the residual stream by √(2 · layers) (GPT-2, Radford et al. 2019)."""
    for module in model.modules():
        if isinstance(module, Attention | FeedForward):
            module.out_proj.weight.data /= (2 * n_layers) ** 0.5


def t5(model: nn.Module, d_model: int) -> None:
    """Each matrix N(0, 1 / fan-in); the query projection also has the factor 1 / √d_head that T5's scores leave out."""
    for module in model.modules():
        if isinstance(module, Attention):
            inner_width = module.n_heads * module.d_head
            nn.init.normal_(module.q_proj.weight, std=(d_model * module.d_head) ** -0.5)
            nn.init.normal_(module.k_proj.weight, std=d_model**-0.5)
            nn.init.normal_(module.v_proj.weight, std=d_model**-0.5)
            nn.init.normal_(module.out_proj.weight, std=inner_width**-0.5)
        elif isinstance(module, FeedForward):
            for proj in (module.in_proj, module.gate_proj, module.out_proj):
                if proj is not None:
                    nn.init.normal_(proj.weight, std=proj.in_features**-0.5)
        elif isinstance(module, T5Bias):
            nn.init.normal_(module.table.weight, std=d_model**-0.5)
        if isinstance(module, nn.Linear):
            _zero_bias(module)


def _zero_bias(module: nn.Linear) -> None:
    if module.bias is not None:
        nn.init.zeros_(module.bias)
