package terminal

import (
	"net/http"
	"net/url"
)

// SameOrigin says whether a page of this very server asks: browsers let pages of any site open a WebSocket and send the
// cookies along. Who is no browser and names no origin is refused too.
func SameOrigin(r *http.Request, secure bool) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || u.Host == "" {
		return false
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return u.Scheme == scheme && u.Host == r.Host
}
