// Package rolegate is a local plugin of Traefik, which has no patterns for headers and none for cookies.
//
// `cookies: own` stands before a forwardAuth: it removes the headers that no client may set, and leaves only the
// cookies of Rolegate. `cookies: others` stands before the application, on every route: it leaves all others. With
// `private: true`, browsers show nothing of an answer again without asking, unless the application says what they may
// keep.
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

var (
	ownCookie = regexp.MustCompile(`^\s*(__Host-|__Secure-)?rolegate(-console)?\s*=`)
	// An application may take "_" or "." for "-". Traefik sets the other headers X-Forwarded- itself.
	forged  = regexp.MustCompile(`(?i)^(rolegate|x.(original|rewrite).)|forwarded|remote|webauth|_`)
	traefik = regexp.MustCompile(`^X-(Forwarded-(For|Host|Port|Proto|Server)|Real-Ip)$`)
)

// Config is that of the middleware.
type Config struct {
	Cookies string `json:"cookies"`
	Private bool   `json:"private"`
}

// CreateConfig returns one without a value.
func CreateConfig() *Config { return &Config{} }

type middleware struct {
	next    http.Handler
	before  bool
	private bool
}

// New creates the middleware.
func New(_ context.Context, next http.Handler, config *Config, _ string) (http.Handler, error) {
	if config.Cookies != "own" && config.Cookies != "others" {
		return nil, fmt.Errorf("cookies: own or others, not %q", config.Cookies)
	}
	return &middleware{next, config.Cookies == "own", config.Private}, nil
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
	if m.private {
		response = &privateResponse{ResponseWriter: response}
	}
	m.next.ServeHTTP(response, request)
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
