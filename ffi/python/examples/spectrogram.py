"""Which tones a sound has, and when: python spectrogram.py PICTURE.png

The windows overlap, and are views of the sound: not one of its numbers is copied before the transform.
"""

import math
import sys

import stridewise as sw

#: Numbers of the sound in a second.
RATE = 8000


def sound(seconds=3.0):
    """A tone that rises, one that trembles, three that are struck one after the other, and noise."""
    t = sw.arange(int(seconds * RATE), dtype="float64") / RATE
    rising = sw.sin(2 * math.pi * (300 * t + 450 / seconds * t * t))
    trembling = sw.sin(2 * math.pi * 2400 * t + 40 * sw.sin(2 * math.pi * 2 * t))
    struck = sw.zeros_like(t)
    for k, tone in enumerate((3000, 3300, 3600)):
        since = t - (k + 0.5) * seconds / 4
        struck += sw.where(since > 0, sw.exp(-6 * sw.maximum(since, 0)), 0) * sw.sin(2 * math.pi * tone * t)
    return rising + 0.6 * trembling + struck + sw.random.default_rng(1).normal(0, 0.05, len(t))


def spectrogram(sound, window=256, hop=64):
    """Decibels: a row for each tone, a column for each window."""
    windows = sw.sliding_window_view(sound, window)[::hop]
    bell = 0.5 - 0.5 * sw.cos(2 * math.pi * sw.arange(window) / window)
    power = sw.abs(sw.fft.rfft(windows * bell, axis=1)) ** 2
    return 10 * sw.log10(power + 1e-10).T


def picture(path, seconds=3.0):
    import matplotlib.pyplot as plt

    levels = spectrogram(sound(seconds))
    figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    axes.imshow(
        sw.asnumpy(levels), origin="lower", aspect="auto", cmap="magma", vmin=-20, vmax=40, extent=(0, seconds, 0, RATE / 2000)
    )
    axes.set(xlabel="seconds", ylabel="kHz")
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    picture(sys.argv[1])
