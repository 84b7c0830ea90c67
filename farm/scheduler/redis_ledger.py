"""The ledger in Redis. Every change is one script, so that no crash leaves half of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from farm.scheduler.ledger import LOOKAHEAD, Claim, Refusal
from farm.scheduler.progress import Progress

# Keys of a run: meta (hash), done (bitmap), lease, sent, retry (sorted sets by time), owner (hash).
_CLAIM = """
local meta, done, lease, owner, sent, retry = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local index, now, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', meta) == 0 then return {0, 'unknown'} end
if redis.call('GETBIT', done, index) == 1 then redis.call('ZREM', sent, index) return {0, 'done'} end
if redis.call('HGET', meta, 'cancelled') == '1' then return {0, 'cancelled'} end
local till = redis.call('ZSCORE', lease, index)
if till and tonumber(till) > now then return {0, 'leased'} end
local fence = redis.call('HINCRBY', meta, 'fence', 1)
redis.call('ZADD', lease, now + ttl, index)
redis.call('HSET', owner, index, fence)
redis.call('ZREM', sent, index)
redis.call('ZREM', retry, index)
return {fence, ''}
"""
_BEAT = """
local meta, lease, owner = KEYS[1], KEYS[3], KEYS[4]
if redis.call('HGET', meta, 'cancelled') == '1' then return 0 end
if redis.call('HGET', owner, ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZADD', lease, tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[1])
return 1
"""
_FINISH = """
local meta, done, lease, owner, sent, retry = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
if redis.call('EXISTS', meta) == 0 then return 0 end
if redis.call('SETBIT', done, ARGV[1], 1) == 0 then redis.call('HINCRBY', meta, 'done', 1) end
redis.call('ZREM', lease, ARGV[1]) redis.call('HDEL', owner, ARGV[1])
redis.call('ZREM', sent, ARGV[1]) redis.call('ZREM', retry, ARGV[1])
return 1
"""
_RELEASE = """
local lease, owner, retry = KEYS[3], KEYS[4], KEYS[6]
if redis.call('HGET', owner, ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', lease, ARGV[1]) redis.call('HDEL', owner, ARGV[1])
redis.call('ZADD', retry, ARGV[3], ARGV[1])
return 1
"""
_SENT = """
local meta, lease, owner, sent, retry = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
if redis.call('EXISTS', meta) == 0 then return 0 end
local now = tonumber(ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', meta, 'cursor', ARGV[2]) end
for i = 3, #ARGV do
  redis.call('ZADD', sent, now, ARGV[i])
  redis.call('ZREM', retry, ARGV[i])
  local till = redis.call('ZSCORE', lease, ARGV[i])
  if till and tonumber(till) <= now then redis.call('ZREM', lease, ARGV[i]) redis.call('HDEL', owner, ARGV[i]) end
end
return 1
"""
_LOCK = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""


class RedisLedger:
    """The ledger shared by every worker of a farm."""

    def __init__(self, url: str, prefix: str = "farm:"):
        import redis

        self.redis: Any = redis.Redis.from_url(
            _redis_url(url), socket_timeout=30, socket_connect_timeout=5, health_check_interval=25
        )
        self.prefix = prefix
        self._scripts = {
            name: self.redis.register_script(text)
            for name, text in (
                ("claim", _CLAIM),
                ("beat", _BEAT),
                ("finish", _FINISH),
                ("release", _RELEASE),
                ("sent", _SENT),
                ("lock", _LOCK),
            )
        }

    def _keys(self, run_id: str) -> list[str]:
        names = ("meta", "done", "lease", "owner", "sent", "retry")
        return [f"{self.prefix}{{{run_id}}}:{name}" for name in names]

    def _do(self, script: str, run_id: str, *arguments: str | float) -> Any:
        return self._scripts[script](keys=self._keys(run_id), args=list(arguments))

    def open(self, run_id: str, jobs: int, done: Iterable[int], now: float) -> None:
        """Begin or rebuild a run's state."""
        meta, bitmap, *others = self._keys(run_id)
        bits = bytearray((jobs + 7) // 8)
        count = 0
        for index in done:
            bits[index // 8] |= 0x80 >> (index % 8)
            count += 1
        with self.redis.pipeline(transaction=True) as pipe:
            pipe.delete(meta, bitmap, *others)
            pipe.set(bitmap, bytes(bits))
            pipe.hset(meta, mapping={"jobs": jobs, "fence": int(now * 1000), "cursor": 0, "done": count})
            pipe.execute()

    def known(self, run_id: str) -> bool:
        """Whether the run is open."""
        return bool(self.redis.exists(self._keys(run_id)[0]))

    def close(self, run_id: str) -> None:
        """Forget a run."""
        self.redis.delete(*self._keys(run_id))

    def cancel(self, run_id: str) -> None:
        """Refuse further claims and beats."""
        if self.known(run_id):
            self.redis.hset(self._keys(run_id)[0], "cancelled", 1)

    def claim(self, run_id: str, index: int, now: float, ttl: float) -> Claim:
        """Take a job under a lease."""
        fence, why = self._do("claim", run_id, index, now, ttl)
        return Claim(int(fence), Refusal(why.decode()) if why else None)

    def beat(self, run_id: str, index: int, fence: int, now: float, ttl: float) -> bool:
        """Extend a lease."""
        return bool(self._do("beat", run_id, index, fence, now, ttl))

    def finish(self, run_id: str, index: int, fence: int) -> None:
        """The job has a result."""
        self._do("finish", run_id, index, fence)

    def release(self, run_id: str, index: int, fence: int, retry_at: float) -> None:
        """Give a job back."""
        self._do("release", run_id, index, fence, retry_at)

    def sent(self, run_id: str, indices: Iterable[int], cursor: int | None, now: float) -> None:
        """Messages went out."""
        self._do("sent", run_id, now, "" if cursor is None else cursor, *indices)

    def progress(self, run_id: str, now: float) -> Progress:
        """What the tick needs to know; the cost does not grow with the run."""
        meta, bitmap, lease, _, sent, retry = self._keys(run_id)
        with self.redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(meta)
            pipe.zrange(lease, 0, -1, withscores=True)
            pipe.zrange(sent, 0, -1, withscores=True)
            pipe.zrange(retry, 0, -1, withscores=True)
            raw, leases, sents, retries = pipe.execute()
        facts = {name.decode(): int(value) for name, value in raw.items()}
        cursor = facts.get("cursor", 0)
        bits = self.redis.getrange(bitmap, cursor // 8, (cursor + LOOKAHEAD) // 8)
        first = cursor // 8 * 8
        ahead = {first + i * 8 + j for i, byte in enumerate(bits) if byte for j in range(8) if byte & (0x80 >> j)}
        return Progress(
            facts.get("jobs", 0),
            cursor,
            facts.get("done", 0),
            frozenset(ahead),
            {int(i): at for i, at in sents},
            frozenset(int(i) for i, until in leases if until > now),
            frozenset(int(i) for i, until in leases if until <= now),
            frozenset(int(i) for i, at in retries if at <= now),
            len(retries),
            facts.get("cancelled") == 1,
        )

    def register(self, worker: str, slots: int, now: float, ttl: float) -> None:
        """A worker is alive."""
        self.redis.set(f"{self.prefix}worker:{worker}", slots, ex=max(1, int(ttl)))

    def slots(self, now: float) -> int:
        """Slots of all live workers."""
        keys = list(self.redis.scan_iter(f"{self.prefix}worker:*", count=1000))
        return sum(int(value) for value in self.redis.mget(keys) if value) if keys else 0

    def lock(self, name: str, owner: str, now: float, ttl: float) -> bool:
        """Take or keep a named lock."""
        return bool(self._scripts["lock"](keys=[f"{self.prefix}lock:{name}"], args=[owner, int(ttl * 1000)]))


def _redis_url(url: str) -> str:
    """Celery writes `redis+socket://`, the client `unix://`."""
    return url.replace("redis+socket://", "unix://", 1)
