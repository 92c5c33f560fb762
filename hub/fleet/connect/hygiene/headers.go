package hygiene

import (
	"net/textproto"
	"strings"

	"fairlead.dev/common/contract"
)

// Headers are those of a request or an answer, with canonical names. It is http.Header.
type Headers = map[string][]string

// auditHeader is the name that API servers give a request. Callers may choose it.
const auditHeader = "Audit-Id"

// maxAudit is how long a name of a request may be.
const maxAudit = 128

// websocketProtocols are the protocols that a client of WebSockets offers, and bearerProtocol begins one that is a token.
const (
	websocketProtocols = "Sec-Websocket-Protocol"
	bearerProtocol     = "base64url.bearer.authorization.k8s.io."
)

// IsDroppedRequest says whether a header of a request never passes, by its canonical name.
func IsDroppedRequest(name string) bool {
	switch name {
	case "Authorization", "Cookie", "Cookie2", "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Original-Url", "X-Rewrite-Url", "Origin", "Referer",
		"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings":
		return true
	}
	for _, prefix := range []string{"Impersonate-", "X-Remote-", "X-Forwarded-", "Proxy-", contract.ConnectHeaderPrefix} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Caller is who sends a request, as it is told to the agent.
type Caller struct {
	User   string
	Groups []string
	// Request is the hub's own name of the request.
	Request string
}

// Request leaves of the headers of a request what may pass, and adds who sends it. Upgrade is the protocol to which it
// upgrades; empty is none.
func Request(h Headers, caller Caller, upgrade string) {
	for name, values := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case IsDroppedRequest(canonical):
			delete(h, name)
		case canonical == auditHeader && !isName(values):
			delete(h, name)
		case canonical == websocketProtocols:
			if offered := withoutTokens(values); offered == "" {
				delete(h, name)
			} else {
				h[name] = []string{offered}
			}
		}
	}
	if upgrade != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	}
	h[contract.UserHeader] = []string{caller.User}
	h[contract.RequestHeader] = []string{caller.Request}
	if len(caller.Groups) > 0 {
		h[contract.GroupHeader] = append([]string(nil), caller.Groups...)
	}
}

// isName says whether there is one value, of letters, digits and what UUIDs and paths are made of.
func isName(values []string) bool {
	return len(values) == 1 && len(values[0]) <= maxAudit && !strings.ContainsFunc(values[0], func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// withoutTokens are the protocols that are no tokens.
func withoutTokens(values []string) string {
	var out []string
	for _, value := range values {
		for protocol := range strings.SplitSeq(value, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(strings.ToLower(protocol), bearerProtocol) {
				out = append(out, protocol)
			}
		}
	}
	return strings.Join(out, ", ")
}

// passes says whether a header of an answer passes, by its canonical name.
func passes(name string) bool {
	switch name {
	case "Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Range", "Accept-Ranges",
		"Cache-Control", "Date", "Etag", "Expires", "Last-Modified", "Vary", "Warning", "Retry-After", auditHeader, "Allow",
		"X-Stream-Protocol-Version":
		return true
	}
	return strings.HasPrefix(name, "X-Kubernetes-")
}

// Answer leaves of the headers of an answer what may pass, and keeps browsers from taking it for a page of the hub.
// Upgraded says that it begins another protocol.
func Answer(h Headers, upgraded bool) {
	for name := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case passes(canonical):
		case upgraded && (canonical == "Connection" || canonical == "Upgrade" || strings.HasPrefix(canonical, "Sec-Websocket-")):
		default:
			delete(h, name)
		}
	}
	if !upgraded {
		h["X-Content-Type-Options"] = []string{"nosniff"}
		h["Content-Security-Policy"] = []string{"sandbox"}
	}
}
