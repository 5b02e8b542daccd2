-- The script of wrk. It reads a file and picks its lines at random, in the same order in every run. Each line is an
-- `Authorization` header. If it begins with a slash, it is a path to request without credentials.
local requests = {}
local count
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

-- Each thread has a seed of its own, because threads that pick the same lines at the same time would share rows.
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

-- Prints the results. Times are in microseconds, and the last two numbers count errors.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
