-- http-request lua.rolegate PATH: lets a request pass if Rolegate answers 200 at PATH.

-- The section of haproxy.cfg that leads to Rolegate.
local ROLEGATE = "http://127.0.0.1:8089"
-- Milliseconds: longer than the timeouts of that section, which answers in any case.
local TIMEOUT = 20000
local IDENTITY = { "rolegate-user-id", "rolegate-username", "rolegate-role" }

-- The values of a header, which HAProxy counts from 0.
local function values(headers, name)
  local list, index = {}, 0
  while headers[name] and headers[name][index] do
    table.insert(list, headers[name][index])
    index = index + 1
  end
  return list
end

local function refuse(txn, status, response)
  local reply = txn:reply({ status = status })
  for _, name in ipairs({ "content-type", "www-authenticate", "retry-after", "rolegate-reason" }) do
    for _, value in ipairs(values(response.headers or {}, name)) do
      reply:add_header(name, value)
    end
  end
  if status >= 503 and not (response.headers or {})["retry-after"] then
    reply:add_header("retry-after", "1")
  end
  -- A page of another origin may read this only if haproxy.cfg lists its origin.
  reply:add_header("vary", "Origin")
  local origin = txn:get_var("txn.origin")
  if origin then
    reply:add_header("access-control-allow-origin", origin)
    reply:add_header("access-control-expose-headers", "Retry-After, WWW-Authenticate, Rolegate-Reason")
  end
  reply:set_body(response.body or "")
  txn:done(reply)
end

core.register_action("rolegate", { "http-req" }, function(txn, path)
  local request = txn.http:req_get_headers()
  local ok, response = pcall(function()
    return core.httpclient():get({
      url = ROLEGATE .. path,
      headers = {
        ["host"] = { "rolegate" },
        ["authorization"] = values(request, "authorization"),
        ["x-forwarded-for"] = { txn.sf:src() },
      },
      timeout = TIMEOUT,
    })
  end)
  if not ok or not response or response.status == nil or response.status < 200 then
    refuse(txn, 503, {})
  elseif response.status ~= 200 then
    refuse(txn, response.status, response)
  else
    for _, name in ipairs(IDENTITY) do
      local value = values(response.headers, name)[1]
      -- Whatever answered, it was not Rolegate.
      if not value then return refuse(txn, 503, {}) end
      txn.http:req_set_header(name, value)
    end
  end
end, 1)
