-- Who is told of what becomes ready: the nodes where receives wait for the shard.
--
--   ears    zset  nodes, by the time they were last told; only when there are several, one alone stands in the state
--
-- A node stays until it is found gone or says that nobody waits there any more (ring.lua). So the only node of a server
-- costs nothing: it is noted once, and never told of what it did itself.

local EARS, CHANNEL = BASE .. 'ears', 'cqs:wake:'
local NODE = string.match(ARGV[4], '^%S+')

-- An expiry first, since a server without memory takes no other write unless one went before.
local function listen(s)
  if s.heard == NODE then
    return
  end
  call('PEXPIRE', STATE, math.max(1, s.expires - now))
  if s.heard == '-' then
    s.heard, s.is_changed = NODE, true
    return
  end
  if s.heard ~= '+' then
    call('ZADD', EARS, now, s.heard)
    s.heard, s.is_changed = '+', true
  end
  if call('ZADD', EARS, 'NX', now, NODE) == 1 then
    expire_with(s, EARS)
  end
end

local function unlisten(s, node)
  if s.heard == node then
    s.heard, s.is_changed = '-', true
  elseif s.heard == '+' then
    call('ZREM', EARS, node)
    local left = call('ZRANGE', EARS, 0, 1)
    if #left < 2 then
      s.heard, s.is_changed = left[1] or '-', true
      call('UNLINK', EARS)
    end
  end
end

-- So many receives may look again. The node that was told longest ago hears of all of them, and rings on with those for
-- which nobody waits there. The caller's own node is left out: it knows.
local function ring(s, count)
  if count <= 0 or s.heard == NODE then
    return
  end
  local ears = s.heard == '+' and call('ZRANGE', EARS, 0, -1) or { s.heard }
  local news = string.match(STATE, '{(.*)}') .. ':' .. s.kind .. ' ' .. count
  for _, ear in ipairs(ears) do
    if ear ~= NODE then
      local heard = redis.pcall('PUBLISH', CHANNEL .. ear, news)
      if type(heard) == 'number' and heard > 0 then
        if s.heard == '+' then
          call('ZADD', EARS, 'XX', now, ear)
        end
        return
      end
      unlisten(s, ear)
    end
  end
end
