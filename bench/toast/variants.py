"""The ways to store a large value: core's four strategies, the access method, and types of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg

# The level of "lz4hc", which is core's lz4 format made by the slower compressor: the default level
# of this compressor
LZ4HC_LEVEL = 9
LEVEL = "toast_policy.lz4_level"
# Setting of the core patch
CORE_CHUNKS = "toast_min_saved_chunks"


@dataclass(frozen=True)
class Variant:
    """The definition of a column, and the settings under which its values are stored."""

    name: str
    title: str
    storage: str = ""
    compression: str = ""
    # The codec of a type of our own.
    codec: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def policy(self) -> bool:
        return self.name.startswith("policy")

    def create(self, connection: psycopg.Connection, table: str, type_name: str) -> None:
        column = f"z{type_name}({self.codec})" if self.codec else type_name
        compression = f" COMPRESSION {self.compression}" if self.compression else ""
        connection.execute(f"CREATE TABLE {table} (id integer, v {column}{compression})")
        if self.storage:
            connection.execute(f"ALTER TABLE {table} ALTER v SET STORAGE {self.storage}")
        if self.policy:
            connection.execute(f"SELECT toast_policy.enable('{table}', 'v')")


PLAIN = Variant("plain", "PLAIN", "PLAIN")
EXTERNAL = Variant("external", "EXTERNAL", "EXTERNAL")
EXTENDED_PGLZ = Variant("extended.pglz", "EXTENDED pglz", "EXTENDED", "pglz")
EXTENDED_LZ4 = Variant("extended.lz4", "EXTENDED lz4", "EXTENDED", "lz4")
MAIN_PGLZ = Variant("main.pglz", "MAIN pglz", "MAIN", "pglz")
MAIN_LZ4 = Variant("main.lz4", "MAIN lz4", "MAIN", "lz4")
CORE_LZ4 = Variant("core.lz4", "core patch, lz4", "EXTENDED", "lz4", settings={CORE_CHUNKS: "1"})
POLICY_PGLZ = Variant("policy.pglz", "policy pglz", compression="pglz")
POLICY_LZ4 = Variant("policy.lz4", "policy lz4", compression="lz4")
POLICY_LZ4HC = Variant(
    "policy.lz4hc", "policy lz4hc", compression="lz4", settings={LEVEL: str(LZ4HC_LEVEL)}
)
# The cheapest level that deserves the name lz4hc, and the highest level
POLICY_LZ4HC_LOW = Variant(
    "policy.lz4hc-4", "policy lz4hc, level 4", compression="lz4", settings={LEVEL: "4"}
)
POLICY_LZ4HC_HIGH = Variant(
    "policy.lz4hc-12", "policy lz4hc, level 12", compression="lz4", settings={LEVEL: "12"}
)
OWN_LZ4 = Variant("own.lz4", "ztext(lz4)", codec="lz4")
OWN_SNAPPY = Variant("own.snappy", "ztext(snappy)", codec="snappy")
OWN_ZSTD = Variant("own.zstd", "ztext(zstd)", codec="zstd")
OWN_NONE = Variant("own.none", "ztext(none)", codec="none")

OWN = (OWN_LZ4, OWN_SNAPPY, OWN_ZSTD)


def has_core_patch(connection: psycopg.Connection) -> bool:
    return bool(
        connection.execute("SELECT 1 FROM pg_settings WHERE name = %s", [CORE_CHUNKS]).fetchone()
    )
