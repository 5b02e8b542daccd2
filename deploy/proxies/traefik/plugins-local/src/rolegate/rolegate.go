// Package rolegate is a local plugin of Traefik. It is needed because Traefik itself can remove neither headers by a
// pattern nor single cookies.
//
// `cookies: own` belongs before a forwardAuth. It removes the headers that no client may set, and all cookies but those
// of Rolegate. With `rules`, COPY and MOVE of WebDAV pass only if the same pattern is the first that matches both
// paths. The scripts of pages of `origins` may read refusals (CORS). `preflight: true` refuses all requests but CORS
// preflights, and removes all headers that a preflight does not have.
//
// `cookies: others` belongs before the application, on every route. It passes on all cookies but those of Rolegate.
// With `private: true`, browsers ask again before they show a response from their cache, unless the application sets
// Cache-Control.
//
// A router that lacks a middleware answers 500: `cookies: others` needs `cookies: own` before it, and `private: true`
// also needs the identity of a forwardAuth.
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

// kept is the header that holds the application's cookies between the two middlewares.
const kept = "Rolegate-Other-Cookies"

// checked is the name of a value in the context of a request that `cookies: own` has seen. It is a string, because
// Traefik may interpret each middleware by itself.
const checked = "rolegate.checked"

const plainCharacter = `[\w./~!$&'()*+,=:@-]|%2[0-46-9a-d]|%3[ac-f]|%40|%5[bdef]|%60|%7[b-e]|` +
	`%(c[2-9a-f]|d[0-9a-f]|(e0%[ab]|e[1-9a-cef]%[89ab]|ed%[89])[0-9a-f]|` +
	`(f0%[9ab]|f[1-3]%[89ab]|f4%8)[0-9a-f]%[89ab][0-9a-f])%[89ab][0-9a-f]`

var (
	// plain lists the characters that pass in a path, with well-formed UTF-8. ambiguous finds segments that do not
	// pass.
	plain     = regexp.MustCompile(`(?i)^/(` + plainCharacter + `)*$`)
	ambiguous = regexp.MustCompile(`/(/|%20|\.([^\w-]|$))`)
	ownCookie = regexp.MustCompile(`^\s*(__Host-|__Secure-)?rolegate(-console)?\s*=`)
	// forged also matches "_" and "." in place of "-", because an application may read them as "-". Traefik itself sets
	// the headers that the pattern traefik matches.
	forged = regexp.MustCompile(`(?i)^(rolegate|x.(original|rewrite|real|request|correlation).|trace(parent|state)$)|` +
		`forwarded|remote|webauth|_`)
	traefik = regexp.MustCompile(`^X-(Forwarded-(For|Host|Port|Proto|Server)|Real-Ip)$`)
)

// Config has the options of the middleware.
type Config struct {
	Cookies   string   `json:"cookies"`
	Private   bool     `json:"private"`
	Preflight bool     `json:"preflight"`
	Rules     []string `json:"rules"`
	Origins   []string `json:"origins"`
}

// CreateConfig returns the options before Traefik sets them.
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
		// The request has passed, and the application itself says which pages may read its responses.
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

// isPreflight is false for a request with identity headers, an upgrade, a body, or several origins or methods. The
// router has already excluded other credentials than Proxy-Authorization.
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

// prepareRefusal lets pages of the origins read a refusal. If the request passes, `cookies: others` removes these
// headers.
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
	// The root contains paths of every rule.
	if path == "/" || request.URL.Path == "/" || !plain.MatchString(path) || ambiguous.MatchString(path) {
		return false
	}
	rule := m.rule(path)
	// If the paths are folders, everything in them must be below the same rule, too.
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

// privateResponse adds Cache-Control to a response that has none.
type privateResponse struct {
	http.ResponseWriter
	begun bool
}

func (r *privateResponse) WriteHeader(status int) {
	// Statuses below 200 are informational, and the final one follows.
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
	// A response without a length may be a stream. Traefik does not see a method Flush of a plugin, so this flushes.
	if flusher, is := r.ResponseWriter.(http.Flusher); is && r.Header().Get("Content-Length") == "" {
		flusher.Flush()
	}
	return written, err
}

// Hijack lets WebSockets take over the connection.
func (r *privateResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, is := r.ResponseWriter.(http.Hijacker); is {
		return hijacker.Hijack()
	}
	return nil, nil, http.ErrNotSupported
}

// split returns the cookies of Rolegate and all others, as values of the header Cookie.
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
