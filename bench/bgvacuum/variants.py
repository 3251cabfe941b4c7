"""The servers and settings to compare: background vacuum on and off, and the stock release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.lib.console import BenchError
from bench.lib.paths import bindir
from bench.lib.server import Cluster

SETTING = "bgvacuum"
SETTINGS = {SETTING: "on"}
EXTENSION = "bgvacuum"


@dataclass(frozen=True)
class Variant:
    name: str
    title: str
    # Directory below build/MAJOR that holds the server, or a path.
    server: str = "dense"
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def bindir(self) -> Path:
        if "/" not in self.server:
            return bindir(self.server)
        path = Path(self.server).absolute()
        return path if (path / "postgres").exists() else path / "bin"

    def cluster(self, name: str) -> Cluster:
        return Cluster(name, self.bindir)


STOCK = Variant("stock", "stock", "stock")
OFF = Variant("off", "patched, off", settings={SETTING: "off"})
ON = Variant("on", "patched, on", settings=SETTINGS)
DEFAULT = (STOCK, OFF, ON)
# The stock release with autovacuum four times as often, which limits growth, too
EAGER = Variant(
    "eager", "stock, scale factor 0.05", "stock", {"autovacuum_vacuum_scale_factor": "0.05"}
)


def parse_settings(words: Sequence[str]) -> dict[str, str]:
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise BenchError(f'invalid setting "{word}", NAME=VALUE is wanted')
        settings[name] = value
    return settings


def parse(words: Sequence[str]) -> tuple[Variant, ...]:
    """Return a variant for each word of the form NAME[:SERVER[:NAME=VALUE,...]].

    If NAME is a variant of DEFAULT, take that variant, and change what else is given.
    """
    variants: list[Variant] = []
    for word in words:
        name, _, rest = word.partition(":")
        server, _, settings = rest.partition(":")
        if not name:
            raise BenchError(
                f'invalid variant "{word}", NAME[:SERVER[:SETTING=VALUE,...]] is wanted'
            )
        if any(variant.name == name for variant in variants):
            raise BenchError(f'variant "{name}" is given twice')
        variant = next((known for known in DEFAULT if known.name == name), Variant(name, name))
        if server:
            variant = replace(variant, server=server)
        if settings:
            variant = replace(
                variant, settings={**variant.settings, **parse_settings(settings.split(","))}
            )
        variants.append(variant)
    return tuple(variants)


def require(variants: Sequence[Variant]) -> None:
    """Raise an error unless each server exists and knows all its settings.

    Call this before anything is loaded.
    """
    for variant in variants:
        cluster = variant.cluster("bench-bgvacuum")
        for name in variant.settings:
            if not cluster.has_setting(name):
                raise BenchError(
                    f'the server has no setting "{name}", which variant "{variant.name}" needs: '
                    'bgvacuum_patch is not in it, run "make server"'
                )
