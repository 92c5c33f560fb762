package headers

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"fairlead.dev/common/contract"
)

// AuditID is the header by which both API servers log a request under one id.
const AuditID = "Audit-Id"

// bearerProtocol begins the WebSocket subprotocol in which browsers send tokens.
const bearerProtocol = "base64url.bearer.authorization."

// webSocketProtocols lists the subprotocols that a client would speak.
const webSocketProtocols = "Sec-Websocket-Protocol"

// foreign are headers that say who somebody is, whence a request comes, or that it may be made twice (which Go's client
// then does), and the beginnings of such, in lower case and with dashes.
var foreign = []string{ //nolint:gochecknoglobals // A constant list.
	"authorization", "idempotency-key", "x-idempotency-key", "cookie", "cookie2", "set-cookie", "forwarded", "via", "x-real-ip", "impersonate-", "x-remote-", "x-forwarded-", "proxy-",
	strings.ToLower(contract.ConnectHeaderPrefix),
}

// auditID is what the API servers take for one.
var auditID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// ToMember takes off a request what operators must not send, and sets as whom it is made. Hop-by-hop headers are the
// business of whoever forwards it.
func ToMember(h http.Header, user string, groups []string) {
	id := h.Get(AuditID)
	drop(h)
	h.Del(AuditID)
	if auditID.MatchString(id) {
		h.Set(AuditID, id)
	}
	if protocols := h.Values(webSocketProtocols); len(protocols) > 0 {
		h.Del(webSocketProtocols)
		if left := withoutBearer(protocols); len(left) > 0 {
			h.Set(webSocketProtocols, strings.Join(left, ", "))
		}
	}
	h.Set(authenticationv1.ImpersonateUserHeader, user)
	for _, group := range groups {
		h.Add(authenticationv1.ImpersonateGroupHeader, group)
	}
}

// FromMember takes off an answer what only the hub or the agent says.
func FromMember(h http.Header) { drop(h) }

func drop(h http.Header) {
	for name := range h {
		plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if slices.ContainsFunc(foreign, func(f string) bool { return plain == f || strings.HasSuffix(f, "-") && strings.HasPrefix(plain, f) }) {
			delete(h, name)
		}
	}
}

func withoutBearer(lists []string) []string {
	var out []string
	for _, list := range lists {
		for protocol := range strings.SplitSeq(list, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(strings.ToLower(protocol), bearerProtocol) {
				out = append(out, protocol)
			}
		}
	}
	return out
}
