package headers

import (
	authenticationv1 "k8s.io/api/authentication/v1"
)

// ToMember takes off a request what operators must not send, and sets as whom it is made. Hop-by-hop headers are the
// business of whoever forwards it.
func ToMember(h Headers, user string, groups []string) {
	clean(h)
	h[authenticationv1.ImpersonateUserHeader] = []string{user}
	if len(groups) > 0 {
		h[authenticationv1.ImpersonateGroupHeader] = append([]string(nil), groups...)
	}
}

// FromMember takes off an answer what only the hub or the agent says.
func FromMember(h Headers) {
	for name := range h {
		if isForeign(name) {
			delete(h, name)
		}
	}
}
