"""Cells of recurrent networks. PyTorch takes the fused cells for every device but the CPU, and the CPU has none.

Written from the equations of torch.nn.LSTM and torch.nn.GRU. The workspace holds what the backward pass needs; its
form is ours alone, since only these functions read it.
"""
import torch


def _gates(x, h, x_bias, h_bias):
    x = x if x_bias is None else x + x_bias
    return x, h if h_bias is None else h + h_bias


def lstm(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    x, h = _gates(input_gates, hidden_gates, input_bias, hidden_bias)
    i, f, g, o = (x + h).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def lstm_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    i, f, g, o = workspace.chunk(4, 1)
    t = cy.tanh()
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    grad_c = grad_hy * o * (1 - t * t) + (0 if grad_cy is None else grad_cy)
    gates = torch.cat([grad_c * g * i * (1 - i), grad_c * cx * f * (1 - f), grad_c * i * (1 - g * g),
                       grad_hy * t * o * (1 - o)], 1)
    return gates, grad_c * f, gates.sum(0) if has_bias else None


def gru(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    x, h = _gates(input_gates, hidden_gates, input_bias, hidden_bias)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hn], 1)


def gru_backward(grad_hy, workspace, has_bias):
    r, z, n, hx, hn = workspace.chunk(5, 1)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_r = grad_n * hn * r * (1 - r)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    x, h = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    return x, h, grad_hy * z, x.sum(0) if has_bias else None, h.sum(0) if has_bias else None


KERNELS = {
    "_thnn_fused_lstm_cell": lstm,
    "_thnn_fused_lstm_cell_backward_impl": lstm_backward,
    "_thnn_fused_gru_cell": gru,
    "_thnn_fused_gru_cell_backward": gru_backward,
}
