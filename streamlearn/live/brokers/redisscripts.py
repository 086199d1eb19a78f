"""What the Redis server does in one step."""

from __future__ import annotations

from typing import Final

KNOWN: Final = 100_000
"""Ids that a sink remembers, the latest: no pump publishes so many at once."""
PUBLISH: Final = f"""
local now = redis.call('TIME')
local score = now[1] * 1000 + math.floor(now[2] / 1000)
local known = 0
for i = 1, #ARGV, 3 do
    if not redis.call('ZSCORE', KEYS[2], ARGV[i]) then
        redis.call('XADD', KEYS[1], '*', 'id', ARGV[i], 'key', ARGV[i + 1], 'data', ARGV[i + 2])
        redis.call('ZADD', KEYS[2], score, ARGV[i])
    else
        known = known + 1
    end
end
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -{KNOWN} - 1)
return known
"""
"""One step of the server's. A script that fails keeps what it did: so an id is known only after its entry is added."""
FORGET_LOST: Final = """
local function fields(flat)
    local found = {}
    for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
    return found
end
local stream = fields(redis.call('XINFO', 'STREAM', KEYS[1]))
local removed = stream['entries-added'] - stream['length']
for _, it in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local group = fields(it)
    if group['name'] == ARGV[1] and group['entries-read'] and group['entries-read'] < removed then
        redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], group['last-delivered-id'], 'ENTRIESREAD', removed)
    end
end
"""
"""Count what was trimmed before a group was given it as read: else it would seem lost again and again, and to wait.

Redis counts what it gives, not what it passes over. In one step, lest the group be set back behind what another
member is given meanwhile.
"""
