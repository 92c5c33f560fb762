package headers

import (
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/common/contract"
)

// Headers are the headers of a request or an answer; the type is http.Header.
type Headers = map[string][]string

// AuditID is the header, in canonical form, with the ID under which both API servers log a request. Callers may
// choose it.
const AuditID = "Audit-Id"

// auditID matches what API servers accept as the id of an audit event.
var auditID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// webSocketProtocols lists the subprotocols that a client offers, and bearerProtocol is the prefix of the one in
// which browsers send tokens.
const (
	webSocketProtocols = "Sec-Websocket-Protocol"
	bearerProtocol     = "base64url.bearer.authorization."
)

// foreign are headers that identify a user, the origin or target of a request, or mark it as repeatable (Go's client
// would then repeat it), and prefixes of such headers, in lower case and with dashes.
var foreign = []string{ //nolint:gochecknoglobals // A constant list.
	"authorization", "cookie", "cookie2", "set-cookie", "idempotency-key", "x-idempotency-key",
	"forwarded", "via", "x-real-ip", "x-client-ip", "x-original-url", "x-rewrite-url", "origin", "referer",
	"impersonate-", "x-remote-", "x-forwarded-", "proxy-", strings.ToLower(contract.ConnectHeaderPrefix),
}

// isForeign returns whether a header passes in neither direction, in any case: some programs treat underscores as
// dashes.
func isForeign(name string) bool {
	plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return slices.ContainsFunc(foreign, func(f string) bool { return plain == f || strings.HasSuffix(f, "-") && strings.HasPrefix(plain, f) })
}

// clean removes the headers that operators must not send from a request.
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

// withoutTokens returns the subprotocols that are not tokens.
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

// Upgrade returns the protocol that a request or an answer upgrades to, given headers with canonical names; empty if
// it does not upgrade.
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
