-- A wrk script. Each line of a file is an `Authorization` header, or, if it begins with a slash, a path to
-- request without credentials. Lines are picked at random, in the same order in every run.
local requests = {}
local count
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

-- Threads that pick the same lines at the same time would share rows.
function init(args)
  math.randomseed(number)
  for line in io.lines(args[1]) do
    local is_path = line:sub(1, 1) == "/"
    requests[#requests + 1] = is_path and wrk.format("GET", line)
      or wrk.format("GET", nil, { ["Authorization"] = line })
  end
  count = #requests
end

function request()
  return requests[math.random(count)]
end

-- Times are in microseconds; the last two numbers count errors.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
