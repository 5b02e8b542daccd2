// Package rolegate is a local plugin of Traefik, which has no patterns for headers and none for cookies.
//
// `cookies: own` stands before a forwardAuth: it removes the headers that no client may set, and leaves only the
// cookies of Rolegate. With `rules`, COPY and MOVE of WebDAV pass only between paths that the same of these patterns fits
// first. Pages of `origins` may read refusals. `cookies: others` stands before the application, on every route: it leaves
// all other cookies. With `private: true`, browsers show nothing of an answer again without asking, unless the
// application says what they may keep. `preflight: true` leaves of a request what a CORS preflight has.
//
// A router in which a middleware was forgotten is 500: `cookies: others` needs `cookies: own` before it, and
// `private: true` also needs the identity of a forwardAuth.
package rolegate

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// kept has the cookies of the application meanwhile.
const kept = "Rolegate-Other-Cookies"

// checked is the name of a value in the context of a request that `cookies: own` has seen. It is a string, because Traefik
// may interpret each middleware by itself.
const checked = "rolegate.checked"

const plainCharacter = `[\w./~!$&'()*+,=:@-]|%2[0-46-9a-d]|%3[ac-f]|%40|%5[bdef]|%60|%7[b-e]|` +
	`%(c[2-9a-f]|d[0-9a-f]|(e0%[ab]|e[1-9a-cef]%[89ab]|ed%[89])[0-9a-f]|` +
	`(f0%[9ab]|f[1-3]%[89ab]|f4%8)[0-9a-f]%[89ab][0-9a-f])%[89ab][0-9a-f]`

var (
	// The characters that pass in a path, with well-formed UTF-8, and what no segment may be.
	plain     = regexp.MustCompile(`(?i)^/(` + plainCharacter + `)*$`)
	ambiguous = regexp.MustCompile(`/(/|%20|\.([^\w-]|$))`)
	ownCookie = regexp.MustCompile(`^\s*(__Host-|__Secure-)?rolegate(-console)?\s*=`)
	// An application may take "_" or "." for "-". Traefik sets the other headers X-Forwarded- itself.
	forged = regexp.MustCompile(`(?i)^(rolegate|x.(original|rewrite|real|request|correlation).|trace(parent|state)$)|` +
		`forwarded|remote|webauth|_`)
	traefik = regexp.MustCompile(`^X-(Forwarded-(For|Host|Port|Proto|Server)|Real-Ip)$`)
)

// Config is that of the middleware.
type Config struct {
	Cookies   string   `json:"cookies"`
	Private   bool     `json:"private"`
	Preflight bool     `json:"preflight"`
	Rules     []string `json:"rules"`
	Origins   []string `json:"origins"`
}

// CreateConfig returns one without a value.
func CreateConfig() *Config { return &Config{} }

type middleware struct {
	next   http.Handler
	config *Config
	before bool
	rules  []*regexp.Regexp
}

// New creates the middleware.
func New(_ context.Context, next http.Handler, config *Config, _ string) (http.Handler, error) {
	if config.Cookies != "own" && config.Cookies != "others" {
		return nil, fmt.Errorf("cookies: own or others, not %q", config.Cookies)
	}
	m := &middleware{next: next, config: config, before: config.Cookies == "own"}
	for _, pattern := range config.Rules {
		rule, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		m.rules = append(m.rules, rule)
	}
	return m, nil
}

func (m *middleware) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	headers := request.Header
	if m.config.Preflight && !isPreflight(request) {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.before {
		if !m.isBelowSameRule(request) {
			response.WriteHeader(http.StatusForbidden)
			return
		}
		m.prepareRefusal(response.Header(), headers.Get("Origin"))
		for name := range headers {
			if isRemoved(name, m.config.Preflight) {
				delete(headers, name)
			}
		}
		own, others := split(headers["Cookie"])
		set(headers, "Cookie", own)
		set(headers, kept, others)
		request = request.WithContext(context.WithValue(request.Context(), checked, true))
	} else {
		if request.Context().Value(checked) == nil || m.config.Private && headers.Get("Rolegate-User-Id") == "" {
			http.Error(response, "A middleware of Rolegate is missing in the router of this address.", http.StatusInternalServerError)
			return
		}
		// The application says itself which pages may read its answers.
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"} {
			response.Header().Del(name)
		}
		_, others := split(append(headers[kept], headers["Cookie"]...))
		delete(headers, kept)
		set(headers, "Cookie", others)
	}
	if m.config.Private {
		response = &privateResponse{ResponseWriter: response}
	}
	m.next.ServeHTTP(response, request)
}

func isRemoved(name string, preflight bool) bool {
	if traefik.MatchString(name) {
		return false
	}
	return forged.MatchString(name) || preflight && name != "Origin" && !strings.HasPrefix(name, "Access-Control-Request-")
}

var preflightMethod = regexp.MustCompile(`^[A-Za-z-]+$`)

// isPreflight refuses what other requests have: credentials, identities, upgrades, bodies, several origins or methods.
func isPreflight(request *http.Request) bool {
	for name := range request.Header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "rolegate") || name == "proxy-authorization" || name == "upgrade" {
			return false
		}
	}
	origins, methods := request.Header["Origin"], request.Header["Access-Control-Request-Method"]
	if len(origins) != 1 || len(methods) != 1 || request.ContentLength != 0 {
		return false
	}
	return origins[0] != "" && !strings.ContainsAny(origins[0], ", \t") && preflightMethod.MatchString(methods[0])
}

// prepareRefusal lets pages of the origins read a refusal. If the request passes, `cookies: others` takes it back.
func (m *middleware) prepareRefusal(answer http.Header, origin string) {
	answer.Set("Vary", "Origin")
	for _, allowed := range m.config.Origins {
		if origin == allowed {
			answer.Set("Access-Control-Allow-Origin", origin)
			answer.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate, Rolegate-Reason")
		}
	}
}

// isBelowSameRule says whether a Destination is at the same host, and below the same rule as the request.
func (m *middleware) isBelowSameRule(request *http.Request) bool {
	destinations := request.Header["Destination"]
	if len(destinations) == 0 {
		return true
	}
	path := destinations[0]
	own := request.Header.Get("X-Forwarded-Proto") + "://" + request.Host
	if len(path) > len(own) && strings.EqualFold(path[:len(own)], own) {
		path = path[len(own):]
	}
	if len(destinations) > 1 || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "?# ") {
		return false
	}
	if len(m.rules) == 0 {
		return true
	}
	// The root has every rule below it.
	if path == "/" || request.URL.Path == "/" || !plain.MatchString(path) || ambiguous.MatchString(path) {
		return false
	}
	rule := m.rule(path)
	// So is all that is in them, if they are folders.
	return rule == m.rule(path+"/") && rule == m.rule(request.URL.Path) && rule == m.rule(request.URL.Path+"/")
}

func (m *middleware) rule(path string) int {
	for index, rule := range m.rules {
		if rule.MatchString(path) {
			return index
		}
	}
	return len(m.rules)
}

// privateResponse adds Cache-Control where there is none.
type privateResponse struct {
	http.ResponseWriter
	begun bool
}

func (r *privateResponse) WriteHeader(status int) {
	// Others are informational, and the last one follows.
	if status >= 200 && !r.begun {
		r.begun = true
		if r.Header().Get("Cache-Control") == "" {
			r.Header().Set("Cache-Control", "private, no-cache")
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *privateResponse) Write(body []byte) (int, error) {
	if !r.begun {
		r.WriteHeader(http.StatusOK)
	}
	written, err := r.ResponseWriter.Write(body)
	// A stream. Traefik does not see a method Flush of a plugin.
	if flusher, is := r.ResponseWriter.(http.Flusher); is && r.Header().Get("Content-Length") == "" {
		flusher.Flush()
	}
	return written, err
}

// Hijack is for WebSockets.
func (r *privateResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, is := r.ResponseWriter.(http.Hijacker); is {
		return hijacker.Hijack()
	}
	return nil, nil, http.ErrNotSupported
}

// split returns the cookies of Rolegate and all others, as headers.
func split(headers []string) (own, others []string) {
	for _, header := range headers {
		var mine, theirs []string
		for _, pair := range strings.Split(header, ";") {
			if ownCookie.MatchString(pair) {
				mine = append(mine, pair)
			} else {
				theirs = append(theirs, pair)
			}
		}
		if len(mine) > 0 {
			own = append(own, strings.TrimSpace(strings.Join(mine, ";")))
		}
		if len(theirs) > 0 {
			others = append(others, strings.TrimSpace(strings.Join(theirs, ";")))
		}
	}
	return own, others
}

func set(headers http.Header, name string, values []string) {
	if len(values) == 0 {
		delete(headers, name)
		return
	}
	headers[name] = values
}
