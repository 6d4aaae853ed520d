"""Convolutions, images and what is around them."""
import torch
from torch import nn
from torch.nn import functional as F

from models import Run, model, rand

GROUPS = "aten.convolution.default"  # whose channels are no whole sticks


@model(3, 77)
def convolution_block(n):
    return nn.Sequential(nn.Conv2d(n, 10, 3, padding=1), nn.BatchNorm2d(10), nn.ReLU()).eval(), (rand(2, n, 7, 9),)


@model(3)
def convolution_block_in_training(n):
    """The statistics of the batch; the running ones are written."""
    return nn.Sequential(nn.Conv2d(n, 10, 3), nn.BatchNorm2d(10), nn.ReLU()), (rand(2, n, 7, 9),)


@model(77)
def batch_norm_in_training(n):
    return nn.BatchNorm1d(n), (rand(13, n),)


@model(12)
def group_norm(n):
    return nn.GroupNorm(3, n), (rand(2, n, 5, 7),)


@model(3, host_back={"aten.mul.Tensor"})
def instance_norm(n):
    return nn.InstanceNorm2d(n, affine=True), (rand(2, n, 5, 7),)


class Residual(nn.Module):
    """A block of ResNet that halves the image."""

    def __init__(self, n, m, stride=2):
        super().__init__()
        self.first, self.second = nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.Conv2d(m, m, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(m) for _ in range(3)])
        self.aside = nn.Conv2d(n, m, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.norms[2](self.aside(x)))


@model(3)
def resnet_block(n):
    return Residual(n, 10).eval(), (rand(2, n, 8, 8),)


@model(3, host={"aten.max_pool2d_with_indices.default"},
       host_back={"aten.max_pool2d_with_indices_backward.default"})
def resnet(n):
    """The stem, two blocks, the mean over the image, and classes."""
    stem = nn.Sequential(nn.Conv2d(n, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(stem, Residual(8, 8, 1), Residual(8, 12), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(12, 10)).eval(), (rand(2, n, 32, 32),)


@model(10, host_back={GROUPS})
def separable_convolution(n):
    """Each channel for itself, then all at one place, as in MobileNet."""
    return nn.Sequential(nn.Conv2d(n, n, 3, padding=1, groups=n, bias=False), nn.BatchNorm2d(n), nn.ReLU6(),
                         nn.Conv2d(n, 7, 1)).eval(), (rand(2, n, 5, 7),)


@model(10, host_back={GROUPS})
def convnext_block(n):
    """Channels last between two permutes."""
    def run(s, x):
        y = s.norm(s.deep(x).permute(0, 2, 3, 1))
        return x + (s.down(F.gelu(s.up(y))) * s.scale).permute(0, 3, 1, 2)
    return Run(run, deep=nn.Conv2d(n, n, 7, padding=3, groups=n), norm=nn.LayerNorm(n), up=nn.Linear(n, 4 * n),
               down=nn.Linear(4 * n, n), scale=nn.Parameter(torch.rand(n))), (rand(2, n, 7, 7),)


@model(10, host={GROUPS}, host_back={GROUPS})
def grouped_convolution(n):
    return nn.Conv2d(n, n, 3, padding=1, groups=2), (rand(2, n, 5, 7),)


@model(3)
def dilated_convolution(n):
    """Causal and gated, as in WaveNet."""
    def run(s, x):
        y = F.pad(x, (4, 0))
        return x + s.out(s.tanh(y).tanh() * s.gate(y).sigmoid())
    return Run(run, tanh=nn.Conv1d(n, 5, 3, dilation=2), gate=nn.Conv1d(n, 5, 3, dilation=2), out=nn.Conv1d(5, n, 1)), \
        (rand(2, n, 77),)


@model(3)
def patches(n):
    """An image as words: a convolution without overlap, a word for the class, places."""
    def run(s, x):
        x = s.cut(x).flatten(2).transpose(1, 2)
        return torch.cat([s.kind.expand(x.size(0), -1, -1), x], 1) + s.places
    return Run(run, cut=nn.Conv2d(n, 77, 4, 4), kind=nn.Parameter(rand(1, 1, 77)),
               places=nn.Parameter(rand(1, 7, 77))), (rand(2, n, 8, 12),)


@model(77)
def vision_transformer(n):
    """Patches by a reshape, one layer, classes from the mean."""
    def run(s, x):
        x = x.unflatten(2, (2, 4)).unflatten(4, (3, 4)).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        return s.head(s.layer(s.into(x)).mean(1))
    layer = nn.TransformerEncoderLayer(n, 7, 100, dropout=0.0, batch_first=True, norm_first=True)
    return Run(run, into=nn.Linear(48, n), layer=layer, head=nn.Linear(n, 10)), (rand(2, 3, 8, 12),)


@model(5, host={"aten.max_pool2d_with_indices.default"},
       host_back={"aten.max_pool2d_with_indices_backward.default"})
def unet(n):
    """Down, up by a transposed convolution, and the skip beside it."""
    def run(s, x):
        a = F.relu(s.first(x))
        b = F.relu(s.low(F.max_pool2d(a, 2)))
        return s.out(torch.cat([a, s.up(b)], 1))
    return Run(run, first=nn.Conv2d(3, n, 3, padding=1), low=nn.Conv2d(n, 2 * n, 3, padding=1),
               up=nn.ConvTranspose2d(2 * n, n, 2, 2), out=nn.Conv2d(2 * n, 3, 1)), (rand(2, 3, 8, 8),)


@model(5, host={"aten.index.Tensor"},
       host_back={"aten.index_put.default"})
def unet_by_interpolation(n):
    def run(s, x):
        a = F.silu(s.norm(s.first(x)))
        b = F.interpolate(s.low(F.avg_pool2d(a, 2)), scale_factor=2, mode="nearest")
        return s.out(torch.cat([a, b], 1))
    return Run(run, first=nn.Conv2d(3, 2 * n, 3, padding=1), norm=nn.GroupNorm(2, 2 * n),
               low=nn.Conv2d(2 * n, n, 3, padding=1), out=nn.Conv2d(3 * n, 3, 1)), (rand(2, 3, 8, 8),)


@model(12)
def squeeze_and_excite(n):
    def run(s, x):
        return x * s.up(F.relu(s.down(x.mean((2, 3))))).sigmoid()[:, :, None, None]
    return Run(run, down=nn.Linear(n, 3), up=nn.Linear(3, n)), (rand(2, n, 5, 7),)


@model(3)
def pixel_shuffle(n):
    """Four channels become four pixels."""
    return nn.Sequential(nn.Conv2d(n, 4 * n, 3, padding=1), nn.PixelShuffle(2)), (rand(2, n, 5, 7),)


@model(77)
def autoencoder(n):
    """With noise that is given, as variational ones have it."""
    def run(s, x, noise):
        mean, spread = s.into(x).chunk(2, -1)
        return s.out(mean + noise * (spread * 0.5).exp()), (1 + spread - mean.square() - spread.exp()).sum(-1).mean()
    return Run(run, into=nn.Linear(n, 6), out=nn.Sequential(nn.Linear(3, 100), nn.ReLU(), nn.Linear(100, n))), \
        (rand(5, n), rand(5, 3))


@model(10)
def feature_modulation(n):
    """Scales and shifts that another input decides."""
    def run(s, x, y):
        scale, shift = s.decide(y)[:, :, None, None].chunk(2, 1)
        return s.conv(x) * (1 + scale) + shift
    return Run(run, conv=nn.Conv2d(3, n, 3), decide=nn.Linear(7, 2 * n)), (rand(2, 3, 5, 7), rand(2, 7))


@model(3)
def position_encoding(n):
    """Points as sines of doubled frequencies, as NeRF has them."""
    def run(s, x):
        angles = x.unsqueeze(-1) * 2.0 ** torch.arange(4, device=x.device).to(x.dtype)
        return s.net(torch.cat([x, angles.sin().flatten(1), angles.cos().flatten(1)], -1))
    return Run(run, net=nn.Sequential(nn.Linear(9 * n, 33), nn.ReLU(), nn.Linear(33, 4))), (rand(7, n),)


@model(77)
def sets(n):
    """Every element by itself, then the largest and the mean."""
    def run(s, x):
        x = F.relu(s.each(x))
        return s.all(torch.cat([x.amax(1), x.mean(1)], -1))
    return Run(run, each=nn.Linear(n, 50), all=nn.Linear(100, 10)), (rand(3, 13, n),)
