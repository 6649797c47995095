"""Measures of recurrent units: correlation with a signal, principal axes of their states."""

import numpy as np
import pytest
import torch

from core.analysis import measures


def test_correlation_is_pearsons():
    rng = torch.Generator().manual_seed(0)
    values = torch.randn(3, 20, 5, generator=rng, dtype=torch.float64)
    signal = torch.randint(0, 2, (20,), generator=rng).double()
    correlations = measures.correlation(values, signal)
    expected = [[np.corrcoef(values[s, :, u], signal)[0, 1] for u in range(5)] for s in range(3)]
    np.testing.assert_allclose(correlations, expected, atol=1e-12)


def test_constants_have_no_correlation():
    values = torch.stack([torch.ones(6), torch.arange(6.0)], 1)
    assert measures.correlation(values, torch.tensor([0.0, 1, 0, 1, 0, 1]))[0] == 0
    assert measures.correlation(values, torch.ones(6)).tolist() == [0, 0]


def test_a_unit_that_is_the_inverted_signal():
    signal = torch.tensor([0.0, 1, 1, 0, 1])
    assert measures.correlation(3 - 2 * signal[:, None], signal).item() == pytest.approx(-1)


def test_principal_axes_are_those_of_the_covariance():
    states = torch.randn(12, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * torch.arange(
        1.0, 7
    )
    centre, axes, shares = measures.principal_axes(states, 2)
    sizes, vectors = np.linalg.eigh(np.cov(states.numpy().T))
    np.testing.assert_allclose(centre, states.mean(0))
    np.testing.assert_allclose(shares, sizes[:-3:-1] / sizes.sum(), atol=1e-12)
    for axis, vector in zip(axes.numpy(), vectors.T[:-3:-1], strict=True):
        assert abs(axis @ vector) == pytest.approx(1)
        assert axis[np.abs(axis).argmax()] > 0


def test_one_state_has_no_plane():
    centre, axes, shares = measures.principal_axes(torch.ones(1, 4), 2)
    assert shares.tolist() == [0, 0]
    assert torch.isfinite(axes).all() and axes.shape == (2, 4)
    assert centre.tolist() == [1, 1, 1, 1]
