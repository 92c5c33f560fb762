package headers

import (
	"net/textproto"
	"strings"

	"fairlead.dev/common/contract"
)

// Caller is the operator who sends a request, as the agent is told.
type Caller struct {
	User   string
	Groups []string
	// Request is the hub's own name of the request.
	Request string
}

// ToAgent leaves of the headers of a request what may pass, and adds who sends it. Upgrade is the protocol to which it
// upgrades; empty is none.
func ToAgent(h Headers, caller Caller, upgrade string) {
	clean(h)
	for name := range h {
		if isOfConnection(textproto.CanonicalMIMEHeaderKey(name)) {
			delete(h, name)
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

// isOfConnection says whether a header is about the connection on which it came, by its canonical name.
func isOfConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings":
		return true
	}
	return false
}

// ToOperator leaves of the headers of an answer what may pass, and keeps browsers from taking it for a page of the hub.
// Upgraded says that it begins another protocol.
func ToOperator(h Headers, upgraded bool) {
	for name := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case isForOperators(canonical):
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

// isForOperators says whether a header of an answer passes, by its canonical name.
func isForOperators(name string) bool {
	switch name {
	case "Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Range", "Accept-Ranges",
		"Cache-Control", "Date", "Etag", "Expires", "Last-Modified", "Vary", "Warning", "Retry-After", AuditID, "Allow",
		"X-Stream-Protocol-Version":
		return true
	}
	return strings.HasPrefix(name, "X-Kubernetes-")
}
