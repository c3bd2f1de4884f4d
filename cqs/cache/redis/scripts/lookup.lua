-- include: common
-- What the shard holds for each message. Changes nothing.
-- Keys: state, meta, hidden, due, body.
-- ARGV: addresses. Returns for each {meta, lease or nil, due time or nil, body or nil}, or {} when it is not here;
-- nothing when absent.

use(KEYS[1])
local s = open()
if not s then
  return {}
end
local addresses = { unpack(ARGV, 5) }
local metas, leases = call('HMGET', META, unpack(addresses)), call('HMGET', HIDDEN, unpack(addresses))
local dues, bodies = call('ZMSCORE', DUE, unpack(addresses)), call('HMGET', BODY, unpack(addresses))
local found = {}
for i, meta in ipairs(metas) do
  found[i] = meta and { meta, leases[i], dues[i], bodies[i] } or {}
end
return found
