package headers

import (
	"net/textproto"
	"strings"

	"fairlead.dev/common/contract"
)

// Caller is the operator who sends a request, for the agent.
type Caller struct {
	User   string
	Groups []string
	// Request is the hub's ID of the request.
	Request string
}

// ToAgent reduces the headers of a request to those that may pass, and adds the caller. Upgrade is the protocol to
// which it upgrades; empty if it does not.
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

// isOfConnection returns whether a header, by its canonical name, is hop-by-hop.
func isOfConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings":
		return true
	}
	return false
}

// ToOperator reduces the headers of an answer to those that may pass, and keeps browsers from taking it for a page of
// the hub. upgraded says that the protocol switches.
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

// isForOperators returns whether a header of an answer passes, by its canonical name.
func isForOperators(name string) bool {
	switch name {
	case "Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Range", "Accept-Ranges",
		"Cache-Control", "Date", "Etag", "Expires", "Last-Modified", "Vary", "Warning", "Retry-After", AuditID, "Allow",
		"X-Stream-Protocol-Version":
		return true
	}
	return strings.HasPrefix(name, "X-Kubernetes-")
}
