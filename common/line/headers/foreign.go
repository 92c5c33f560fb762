package headers

import (
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/common/contract"
)

// Headers are the headers of a request or an answer. It is http.Header.
type Headers = map[string][]string

// AuditID is the header by which both API servers log a request under one id, in the canonical form. Callers may choose it.
const AuditID = "Audit-Id"

// auditID matches what API servers accept as the id of an audit event.
var auditID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// webSocketProtocols lists the subprotocols that a client would speak, and bearerProtocol begins the one in which browsers send
// tokens.
const (
	webSocketProtocols = "Sec-Websocket-Protocol"
	bearerProtocol     = "base64url.bearer.authorization."
)

// foreign are headers that say who somebody is, whence a request comes or where it was to go, or that it may be made twice (which
// Go's client then does), and the beginnings of such, in lower case and with dashes.
var foreign = []string{ //nolint:gochecknoglobals // A constant list.
	"authorization", "cookie", "cookie2", "set-cookie", "idempotency-key", "x-idempotency-key",
	"forwarded", "via", "x-real-ip", "x-client-ip", "x-original-url", "x-rewrite-url", "origin", "referer",
	"impersonate-", "x-remote-", "x-forwarded-", "proxy-", strings.ToLower(contract.ConnectHeaderPrefix),
}

// isForeign says whether a header passes neither way, in whatever case: some programs take underscores for dashes.
func isForeign(name string) bool {
	plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return slices.ContainsFunc(foreign, func(f string) bool { return plain == f || strings.HasSuffix(f, "-") && strings.HasPrefix(plain, f) })
}

// clean takes off a request what operators must not send.
func clean(h Headers) {
	for name, values := range h {
		switch {
		case isForeign(name), strings.EqualFold(name, AuditID) && (len(values) != 1 || !auditID.MatchString(values[0])):
			delete(h, name)
		case strings.EqualFold(name, webSocketProtocols):
			if offered := withoutTokens(values); offered == "" {
				delete(h, name)
			} else {
				h[name] = []string{offered}
			}
		}
	}
}

// withoutTokens are the subprotocols that are no tokens.
func withoutTokens(lists []string) string {
	var out []string
	for _, list := range lists {
		for protocol := range strings.SplitSeq(list, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(strings.ToLower(protocol), bearerProtocol) {
				out = append(out, protocol)
			}
		}
	}
	return strings.Join(out, ", ")
}

// Upgrade is the protocol that a request or an answer upgrades to, by headers with canonical names; empty if it does not.
func Upgrade(h Headers) string {
	for _, list := range h["Connection"] {
		for token := range strings.SplitSeq(list, ",") {
			if upgrade := h["Upgrade"]; len(upgrade) > 0 && strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return upgrade[0]
			}
		}
	}
	return ""
}
