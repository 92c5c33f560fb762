package headers

import (
	authenticationv1 "k8s.io/api/authentication/v1"
)

// ToMember removes the headers that operators must not send from a request, and sets the impersonation. Hop-by-hop
// headers are left to the proxy.
func ToMember(h Headers, user string, groups []string) {
	clean(h)
	h[authenticationv1.ImpersonateUserHeader] = []string{user}
	if len(groups) > 0 {
		h[authenticationv1.ImpersonateGroupHeader] = append([]string(nil), groups...)
	}
}

// FromMember removes headers from an answer that only the hub or the agent may set.
func FromMember(h Headers) {
	for name := range h {
		if isForeign(name) {
			delete(h, name)
		}
	}
}
