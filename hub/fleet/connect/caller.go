package connect

import (
	"net/http"
	"net/url"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"fairlead.dev/common/contract"
)

// Headers in which an API server names the user whose request it forwards.
const (
	remoteUser        = "X-Remote-User"
	remoteUID         = "X-Remote-Uid"
	remoteGroup       = "X-Remote-Group"
	remoteExtraPrefix = "X-Remote-Extra-"
)

// caller is the user who makes a request: an operator or an agent.
type caller struct {
	name, uid string
	groups    []string
	extra     map[string]authorizationv1.ExtraValue
}

// callerOf returns the user whose request an API server forwards; false if the headers name none.
func callerOf(h http.Header) (caller, bool) {
	if len(h.Values(remoteUser)) != 1 || h.Get(remoteUser) == "" {
		return caller{}, false
	}
	c := caller{name: h.Get(remoteUser), uid: h.Get(remoteUID), groups: h.Values(remoteGroup), extra: map[string]authorizationv1.ExtraValue{}}
	for name, values := range h {
		key, ok := strings.CutPrefix(name, remoteExtraPrefix)
		if !ok {
			continue
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		c.extra[key] = values
	}
	return c, true
}

// credential returns the API server's identifier of the caller's certificate; empty if there is none.
func (c caller) credential() string {
	for _, value := range c.extra[contract.CredentialIDKey] {
		return value
	}
	return ""
}

// may returns the access review for a verb on a subresource of the API of lines.
func (c caller) may(verb, resource, subresource, name string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		User: c.name, UID: c.uid, Groups: c.groups, Extra: c.extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: contract.ConnectGroup, Version: contract.ConnectVersion, Resource: resource, Subresource: subresource, Name: name, Verb: verb,
		},
	}
}
