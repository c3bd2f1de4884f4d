-- Shared by all scripts. A line "-- include: a b" in a script is replaced by a.lua and b.lua, which share its scope.
--
-- Keys of one shard, all with one hash tag and one expiry. A shard is created with all keys that its kind needs, each
-- holding the member or field BLANK: so none is ever empty, and none loses its expiry:
--   state   hash  core = the words of `write_core` below; epoch; number = the last receive number; FIFO: turn, front
--   meta    hash  address -> "sent_ms sequence group": every message of the shard; never changes
--   body    hash  address -> content, where it is kept
--   hidden  hash  address -> its last lease: "ends_ms number count first_ms place mark". ends_ms 0 = ready again; place
--                 counts leases taken from the middle of the line; mark 1 = changed since the take
--   due     zset  in-flight and delayed messages, by when they are visible. Not here = ready. With a lease = in flight
--   tomb    zset  recently removed addresses, by time of removal, see tombs.lua
--   list    list  standard: ready messages in order, address + place; stale ones are skipped when met
--   late    list  standard: messages put while the shard filled; follows list, and becomes list when that is empty
--   replays replayed                     answers of takes, see replays.lua
--   fifo locks busy groups ages          FIFO, see fifo.lua
--   tenants parked noisy                 fair queues, see fair.lua
--   ears    zset  nodes where receives wait for this shard, see ears.lua
--   attempt:ID string                    the answer of a take with a request id, with an expiry of its own
-- Keys of the server:
--   cqs:vesting zset   "tag:kind" of each shard with work, by its time
--   cqs:number  string the highest receive number of a dropped shard
--
-- An address is 16 bytes, big-endian; a sequence 20 digits (0 on a standard shard); times are ms. Receive numbers are
-- below 2^53 and travel as text, since Lua would round them when it formats them.
-- KEYS: the shard's state (except in scripts for the vesting index), then cqs:vesting.
-- ARGV: now ('' = Redis' own TIME; tests set it), run id, how long an idle shard is kept, the calling node and
-- optionally how many of its receives it will wake itself for messages that become ready ("node 3"), then the script's
-- own.
-- Nothing is written before everything is checked, and scripts that free or move messages write first what needs no new
-- memory: a server out of memory refuses whole puts and fills, and still lets messages be taken, removed and revealed.
-- A redis.call costs half a microsecond and as much again per word it returns, a local function a tenth: so the hot
-- scripts read few words, and define what only FIFO and fair shards need when they meet one.

local call = redis.call
local BLANK = ' '
local NEVER = 9007199254740991
local RECEIVES_BEFORE_BACK = 3
local LOOKS_MAX = 2000
local AFTER_STATE_MS = 1000
local OLDEST_LOOKS_MAX = 32
local VESTING, RUN, KEEP = KEYS[#KEYS], ARGV[2], tonumber(ARGV[3])

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(ARGV[1])
end

local BASE, STATE, META, BODY, HIDDEN, DUE
local function use(state_key)
  STATE, BASE = state_key, string.sub(state_key, 1, -6)
  META, BODY, HIDDEN, DUE = BASE .. 'meta', BASE .. 'body', BASE .. 'hidden', BASE .. 'due'
end

local function text(number)
  return string.format('%.0f', number)
end

-- Runs a command with any number of arguments; only for commands that may be split.
local function call_many(command, key, words)
  for from = 1, #words, 1000 do
    call(command, key, unpack(words, from, math.min(from + 999, #words)))
  end
end

-- The shard, or nil when it is absent or left over from another life of this server.
local function open()
  local core = call('HGET', STATE, 'core')
  if not core then
    return nil
  end
  local run, residency, kind, expires, delayed, retention, vesting, is_late, is_fair, heard =
    string.match(core, '^(%x+) (%l) (%l) (%d+) (%d+) (%d+) (%d+) (%d) (%d) (%S+)$')
  if run ~= RUN then
    return nil
  end
  local at = tonumber(vesting)
  return {
    residency = residency, is_ready = residency == 'r', is_fifo = kind == 'f', kind = kind, expires = tonumber(expires),
    delayed = tonumber(delayed), retention = tonumber(retention), vesting = at, vesting_was = at,
    is_late = is_late == '1', is_fair = is_fair == '1', is_changed = false, heard = heard, freed = 0,
  }
end

-- residency: i = initializing, r = ready. kind: s = standard, f = FIFO. delayed: how many. retention: as last stated.
-- is_late: there is a late list. is_fair: messages have tenants. heard: who is notified of messages that become ready:
-- - = nobody, a node, + = the nodes in ears. Not stored: freed = how many messages became ready.
local function write_core(s)
  call('HSET', STATE, 'core', RUN .. ' ' .. s.residency .. ' ' .. s.kind .. ' ' .. s.expires .. ' ' .. s.delayed .. ' '
    .. s.retention .. ' ' .. text(s.vesting) .. ' ' .. (s.is_late and 1 or 0) .. ' ' .. (s.is_fair and 1 or 0) .. ' '
    .. s.heard)
end

-- All keys a shard may have, except answers kept under a request id. The state expires first, since it vouches for the
-- rest: each expiry counts from its own moment in a script, so the others get AFTER_STATE_MS more.
local function all_keys()
  local keys = {}
  for name in string.gmatch(
    'state meta body hidden due tomb list late replays replayed fifo locks busy groups ages tenants parked noisy ears', '%l+') do
    keys[#keys + 1] = BASE .. name
  end
  return keys
end

local function expire_all(s, keep)
  s.expires, s.is_changed = now + keep, true
  for _, key in ipairs(all_keys()) do
    call('PEXPIRE', key, key == STATE and keep or keep + AFTER_STATE_MS)
  end
  call('PEXPIRE', VESTING, 2 * KEEP)
end

-- For a key that was just created.
local function expire_with(s, key)
  call('PEXPIRE', key, math.max(1, s.expires - now) + AFTER_STATE_MS)
end

-- The shard has work at this time; an earlier time stays.
local function expect(s, at)
  if at < s.vesting then
    s.vesting = at
  end
end

-- Writes what changed in the shard's core: the last step of a script. A mere look does not extend the shard's life.
local function close(s, is_look)
  if s.vesting ~= s.vesting_was then
    local name = string.match(STATE, '{(.*)}') .. ':' .. s.kind
    s.is_changed = true
    if s.vesting == NEVER then
      call('ZREM', VESTING, name)
    else
      call('ZADD', VESTING, s.vesting, name)
      call('PEXPIRE', VESTING, 2 * KEEP)
    end
  end
  if s.freed > 0 and s.heard ~= '-' then
    -- include: ears
    ring(s, s.freed - tonumber(string.match(ARGV[4], ' (%d+)$') or 0))
  end
  if s.is_ready and not is_look and s.expires - now < KEEP / 2 then
    expire_all(s, KEEP)
  end
  if s.is_changed then
    write_core(s)
  end
end

-- A message as scripts handle it.
local function record(address, meta, lease)
  local m = { address = address, meta = meta, ends = 0, number = '0', count = 0, first = 0, place = 0, mark = 0 }
  if lease then
    m.has_lease = true
    local ends, number, count, first, place, mark = string.match(lease, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d)$')
    m.ends, m.number, m.count, m.first = tonumber(ends), number, tonumber(count), tonumber(first)
    m.place, m.mark = tonumber(place), tonumber(mark)
  end
  return m
end

local function lease_text(m)
  return m.ends .. ' ' .. m.number .. ' ' .. m.count .. ' ' .. m.first .. ' ' .. m.place .. ' ' .. m.mark
end

local function sent_of(m)
  if not m.sent then
    m.sent = tonumber(string.match(m.meta, '^%d+'))
  end
  return m.sent
end

-- Records of the addresses, false where there is none.
local function load(addresses)
  local found = {}
  for from = 1, #addresses, 1000 do
    local to = math.min(from + 999, #addresses)
    local metas = call('HMGET', META, unpack(addresses, from, to))
    local leases = call('HMGET', HIDDEN, unpack(addresses, from, to))
    for i, meta in ipairs(metas) do
      found[from + i - 1] = meta and record(addresses[from + i - 1], meta, leases[i])
    end
  end
  return found
end

-- Whether the lease with this number is current.
local function is_living(m, number)
  return m.number == number and m.ends > now
end

-- Byte order, whatever the locale.
local function is_before(a, b)
  for i = 1, #a do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return false
end
