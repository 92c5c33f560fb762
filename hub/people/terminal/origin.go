package terminal

import (
	"net/http"
	"net/url"
)

// SameOrigin says whether a request comes from a page of this server. Browsers let pages of any site open a WebSocket,
// and send the cookies along. A request without an origin is refused, too.
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
