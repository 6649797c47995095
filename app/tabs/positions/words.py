"""What is said of each position scheme: its name, formula, idea and weakness."""

from __future__ import annotations

from core.translatable import Text

NAMES = {
    "sinusoidal": Text("Sinusoidal"),
    "learned": Text("Learned"),
    "rope": Text("RoPE"),
    "alibi": Text("ALiBi"),
    "t5": Text("T5 buckets"),
    "none": Text("None"),
    "causal": Text("None, causal"),
}
FORMULAS = {  # LaTeX
    "sinusoidal": r"\begin{aligned} \mathrm{PE}_{p,\,2i} &= \sin\frac{p}{10000^{2i/d}} \\[4pt] \mathrm{PE}_{p,\,2i+1} &= \cos\frac{p}{10000^{2i/d}} \end{aligned}",
    "learned": r"x_p = \mathrm{token}_p + T[p]",
    "rope": r"\begin{gathered} \theta_i = 10000^{-2i/d}, \quad (q_{2i},\, q_{2i+1}) \circlearrowright p\,\theta_i \\[6pt] (R_m q)\cdot(R_n k) = q\cdot(R_{n-m}\, k) \end{gathered}",
    "alibi": r"\begin{gathered} \mathrm{score}_{ij} = \frac{q_i\cdot k_j}{\sqrt d} - s_h\,|i-j| \\[6pt] s_h = 2^{-8(h+1)/H}, \quad h = 0 \dots H-1 \end{gathered}",
    "t5": r"\mathrm{score}_{ij} = q_i\cdot k_j + b_h\,[\mathrm{bucket}(j-i)]",
    "none": r"f(P x) = P\,f(x)",
}
SPOKEN_FORMULAS = {
    "sinusoidal": Text(
        "PE of position p, dimension 2i: sine of p over 10000 to the power 2i/d; dimension 2i+1: cosine of the same"
    ),
    "learned": Text("x at position p is the token's embedding plus row p of a trained table T"),
    "rope": Text(
        "theta i is 10000 to the power minus 2i/d; the pair 2i, 2i+1 turns by p times theta i; the product of a query at m and a key at n depends on n minus m"
    ),
    "alibi": Text(
        "score i j is q i times k j over root d, minus slope s h times the distance of i and j; s h is 2 to the power minus 8 times h plus 1 over H, for heads h from 0 to H minus 1"
    ),
    "t5": Text("score i j is q i times k j plus the trained bias of head h for the bucket of j minus i"),
    "none": Text("f of the reordered input is the reordered f of the input"),
}
IDEAS = {
    "sinusoidal": Text(
        "Each position gets a fixed vector of waves, fast ones and slow ones, which is **added to the token's embedding**: a clock with many hands."
    ),
    "learned": Text(
        "Each position gets a vector of its own that is **trained like a word's embedding**; nothing is known about order at the start."
    ),
    "rope": Text(
        "Queries and keys are **turned by an angle that grows with position**, pair by pair; their product then depends on the offset alone."
    ),
    "alibi": Text(
        "Nothing is added to the tokens: every score is **lowered in proportion to distance**, by a slope of its own for each head."
    ),
    "t5": Text(
        "Each head learns **one number per class of offset**, added to its scores: near offsets have a class each, far ones share."
    ),
    "none": Text(
        "Attention by itself sees **a bag of tokens**: change their order, and the same outputs come out in the changed order."
    ),
}
WEAKNESSES = {
    "sinusoidal": Text(
        "Its weakness: token and position share one vector, and the model must learn by itself to read offsets out of the sum."
    ),
    "learned": Text(
        "Its weakness: a position that never occurred in training has never been learned, and past the table's end there is none."
    ),
    "rope": Text("Its weakness: at distances beyond training the slow dials show angles the model has never met."),
    "alibi": Text(
        "Its weakness: it can only prefer what is near; a head cannot ask for exactly five tokens back, and two-sided it cannot tell left from right."
    ),
    "t5": Text("Its weakness: offsets in one bucket look the same, and all beyond the largest distance do."),
    "none": Text("What is lost: who bit whom. Two equal words get equal outputs wherever they stand."),
}
