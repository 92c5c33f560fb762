package preference

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

const (
	preferHeader  = "Prefer"
	appliedHeader = "Preference-Applied"
	minimal       = "return=minimal"
	observedSpec  = "observed-spec=omit"
)

// Handler trims the responses of next for clients that ask for it: responses to writes, to the version of the object,
// and events of a watch, by specs that were observed.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch verb := verbOf(req); {
		case (verb == "patch" || verb == "update") && preferred(req.Header, minimal):
			answer := &answer{ResponseWriter: w}
			next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), req)
			answer.finish() // not after a panic, so that the client sees a broken response
		case verb == "watch" && preferred(req.Header, observedSpec):
			next.ServeHTTP(responsewriter.WrapForHTTP1Or2(&events{ResponseWriter: w}), req)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// verbOf returns the verb of a request for resources; empty for any other request.
func verbOf(req *http.Request) string {
	info, known := request.RequestInfoFrom(req.Context())
	if !known || !info.IsResourceRequest {
		return ""
	}
	return info.Verb
}

// preferred says whether a client states a preference. Preferences are separated by commas or in separate headers, and
// may have parameters.
func preferred(header http.Header, what string) bool {
	for preference := range strings.SplitSeq(strings.Join(header.Values(preferHeader), ","), ",") {
		name, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.Join(strings.Fields(name), ""), what) {
			return true
		}
	}
	return false
}
