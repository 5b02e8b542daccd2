// Package rolegate is a local plugin of Traefik, which has no patterns for headers and none for cookies.
//
// `cookies: own` stands before a forwardAuth: it removes the headers that no client may set, and leaves only the
// cookies of Rolegate. `cookies: others` stands before the application, on every route: it leaves all others.
package rolegate

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// kept has the cookies of the application meanwhile.
const kept = "Rolegate-Other-Cookies"

var (
	ownCookie = regexp.MustCompile(`^\s*(__Host-|__Secure-)?rolegate(-console)?\s*=`)
	// An application may take "_" or "." for "-". Traefik sets the other headers X-Forwarded- itself.
	forged  = regexp.MustCompile(`(?i)^(rolegate|x.(original|rewrite).)|forwarded|remote|webauth|_`)
	traefik = regexp.MustCompile(`^X-(Forwarded-(For|Host|Port|Proto|Server)|Real-Ip)$`)
)

// Config is that of the middleware.
type Config struct {
	Cookies string `json:"cookies"`
}

// CreateConfig returns one without a value.
func CreateConfig() *Config { return &Config{} }

type middleware struct {
	next   http.Handler
	before bool
}

// New creates the middleware.
func New(_ context.Context, next http.Handler, config *Config, _ string) (http.Handler, error) {
	if config.Cookies != "own" && config.Cookies != "others" {
		return nil, fmt.Errorf("cookies: own or others, not %q", config.Cookies)
	}
	return &middleware{next, config.Cookies == "own"}, nil
}

func (m *middleware) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	headers := request.Header
	if m.before {
		for name := range headers {
			if forged.MatchString(name) && !traefik.MatchString(name) {
				delete(headers, name)
			}
		}
		own, others := split(headers["Cookie"])
		set(headers, "Cookie", own)
		set(headers, kept, others)
	} else {
		_, others := split(append(headers[kept], headers["Cookie"]...))
		delete(headers, kept)
		set(headers, "Cookie", others)
	}
	m.next.ServeHTTP(response, request)
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
