-- The actions with which haproxy.cfg asks Rolegate.
--
-- http-request lua.rolegate PATH lets a request pass if Rolegate answers 200 at PATH. With credentials=cookie in PATH,
-- only the session in the cookie counts, and a request's own Authorization reaches the application.
--
-- http-request lua.rolegate_destination writes the path in the Destination of COPY and MOVE to txn.destination, and the
-- path of the request, a blank and that path to txn.paths. It refuses a Destination at another host.
--
-- http-request lua.rolegate_remove_credentials removes the credentials of Rolegate from a request.
--
-- http-request lua.rolegate_restore_credentials restores them, in the backend of Rolegate's pages.

-- The address of the section of haproxy.cfg that leads to Rolegate.
local ROLEGATE = "http://127.0.0.1:8089"
-- The timeout in milliseconds. It is longer than those of that section, so that the section always answers first.
local TIMEOUT = 20000
local IDENTITY = { "rolegate-user-id", "rolegate-username", "rolegate-role" }
-- These may be missing: not every user has an email address, and older gateways do not send them.
local REMOTE = { "remote-user", "remote-email" }
-- The application always gets these. They are empty for a user without groups, and if an older gateway sends none.
local GROUPS = { "rolegate-groups", "remote-groups" }
-- These headers tell Rolegate where a browser's request comes from. It checks that beside Authorization, too: a browser
-- may add a password that it remembers to requests of pages of other sites. If the session ended before a form was
-- sent, people return to the page in Referer.
local BROWSER = {
  "origin", "accept", "referer", "sec-fetch-site", "sec-fetch-mode", "upgrade", "sec-websocket-key",
  "sec-websocket-version",
}
local ANSWER = {
  "content-type", "content-security-policy", "referrer-policy", "www-authenticate", "retry-after", "rolegate-reason",
  "location", "cache-control", "clear-site-data",
}
local COOKIES = {}
for _, name in ipairs({ "__Host-rolegate", "__Secure-rolegate", "rolegate" }) do
  COOKIES[name], COOKIES[name .. "-console"] = true, true
end

-- Returns the values of a header, which HAProxy counts from 0.
local function values(headers, name)
  local list, index = {}, 0
  while headers[name] and headers[name][index] do
    table.insert(list, headers[name][index])
    index = index + 1
  end
  return list
end

-- Returns the cookies of Rolegate (is_own) or all others, as values of the header Cookie.
local function cookies(headers, is_own)
  local list = {}
  for _, value in ipairs(values(headers, "cookie")) do
    local kept = {}
    for pair in value:gmatch("[^;]+") do
      -- A pattern that tries again from each blank would let one long cookie occupy HAProxy for seconds.
      local name = (pair:match("^([^=]*)=") or ""):gsub("%s+", "")
      if (COOKIES[name] or false) == is_own then
        table.insert(kept, pair)
      end
    end
    if #kept > 0 then
      table.insert(list, (table.concat(kept, ";"):gsub("^%s+", "")))
    end
  end
  return list
end

local function set(txn, name, list)
  txn.http:req_del_header(name)
  for _, value in ipairs(list) do
    txn.http:req_add_header(name, value)
  end
end

core.register_action("rolegate_remove_credentials", { "http-req" }, function(txn)
  local headers = txn.http:req_get_headers()
  txn:set_priv({ cookie = values(headers, "cookie"), authorization = values(headers, "authorization") })
  set(txn, "cookie", cookies(headers, false))
  if not txn:get_var("txn.cookie_only") then
    set(txn, "authorization", {})
  end
end)

core.register_action("rolegate_restore_credentials", { "http-req" }, function(txn)
  for name, list in pairs(txn:get_priv()) do
    set(txn, name, list)
  end
end)

-- Returns the path of a Destination at this host, or nil.
local function path_at_this_host(headers, destination)
  local own = (values(headers, "x-forwarded-proto")[1] or "") .. "://" .. (values(headers, "host")[1] or "")
  if destination:sub(1, #own):lower() == own:lower() then
    destination = destination:sub(#own + 1)
  end
  return destination:match("^/$") or destination:match("^/[^/?#%s][^?#%s]*$")
end

core.register_action("rolegate_destination", { "http-req" }, function(txn)
  local headers = txn.http:req_get_headers()
  local destinations, path = values(headers, "destination"), ""
  if #destinations > 0 then
    path = #destinations == 1 and path_at_this_host(headers, destinations[1])
    if not path then return txn:done(txn:reply({ status = 403 })) end
    txn:set_var("txn.destination", path)
  end
  txn:set_var("txn.paths", txn.sf:path() .. " " .. path)
end)

local function refuse(txn, status, response)
  local reply = txn:reply({ status = status })
  for _, name in ipairs(ANSWER) do
    for _, value in ipairs(values(response.headers or {}, name)) do
      reply:add_header(name, value)
    end
  end
  if status >= 503 and not (response.headers or {})["retry-after"] then
    reply:add_header("retry-after", "1")
  end
  -- Scripts of a page of another origin may read this only if haproxy.cfg lists its origin.
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
  local is_cookie_only = path:find("credentials=cookie", 1, true) ~= nil
  -- Otherwise, the variable stays unset. HAProxy would return false as 0, which Lua takes for true.
  if is_cookie_only then txn:set_var("txn.cookie_only", true) end
  local sent = {
    ["host"] = { "rolegate" },
    ["authorization"] = is_cookie_only and {} or values(request, "authorization"),
    ["x-forwarded-for"] = { txn.sf:src() },
    ["x-forwarded-method"] = { txn.sf:method() },
    ["x-forwarded-proto"] = values(request, "x-forwarded-proto"),
    ["x-forwarded-host"] = values(request, "host"),
  }
  for _, name in ipairs(BROWSER) do
    sent[name] = values(request, name)
  end
  -- If a request has Authorization, Rolegate ignores its cookies and does not redirect it to the sign-in page.
  if #sent["authorization"] == 0 then
    sent["cookie"] = cookies(request, true)
    sent["x-forwarded-uri"] = { txn.sf:pathq() }
  end
  local ok, response = pcall(function()
    return core.httpclient():get({ url = ROLEGATE .. path, headers = sent, timeout = TIMEOUT })
  end)
  if not ok or not response or response.status == nil or response.status < 200 then
    refuse(txn, 503, {})
  elseif response.status ~= 200 then
    refuse(txn, response.status, response)
  else
    for _, name in ipairs(IDENTITY) do
      local value = values(response.headers, name)[1]
      -- Rolegate always sends these, so something else answered.
      if not value then return refuse(txn, 503, {}) end
      txn.http:req_set_header(name, value)
    end
    for _, name in ipairs(REMOTE) do
      local value = values(response.headers, name)[1]
      if value then txn.http:req_set_header(name, value) end
    end
    for _, name in ipairs(GROUPS) do
      txn.http:req_set_header(name, values(response.headers, name)[1] or "")
    end
    txn:set_var("txn.protected", true)
  end
end, 1)
