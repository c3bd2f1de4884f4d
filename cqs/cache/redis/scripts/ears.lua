-- Notifies the nodes where receives wait for the shard of messages that become ready.
--
--   ears    zset  nodes, by when they were last notified; used only for several nodes, one alone is kept in the state
--
-- A node stays until its channel has no subscriber or it says that nobody waits there any more (ring.lua). So a
-- server's only node costs nothing: it is registered once, and never notified of its own actions.

local EARS, CHANNEL = BASE .. 'ears', 'cqs:wake:'
local NODE = string.match(ARGV[4], '^%S+')

-- Sets an expiry first: a server out of memory accepts other writes only after such a write.
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

-- `count` receives may look again. The node notified longest ago is told of all of them, and passes on those for which
-- nobody waits there. The caller's own node is skipped: it knows already.
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
