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
)

// Handler has what next answers to writes cut to the version of the object, for clients that prefer that.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !changes(req) || !preferred(req.Header) {
			next.ServeHTTP(w, req)
			return
		}
		answer := &answer{ResponseWriter: w}
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), req)
		answer.finish() // not after a panic, which is to look like one
	})
}

// changes says whether a request changes an object that its path names: of one that is made the client wants to know more.
func changes(req *http.Request) bool {
	info, known := request.RequestInfoFrom(req.Context())
	return known && info.IsResourceRequest && info.Name != "" && (info.Verb == "patch" || info.Verb == "update")
}

// preferred says whether a client prefers an answer that is minimal. Preferences are separated by commas, or by being headers
// of their own, and each may have parameters.
func preferred(header http.Header) bool {
	for preference := range strings.SplitSeq(strings.Join(header.Values(preferHeader), ","), ",") {
		name, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.Join(strings.Fields(name), ""), minimal) {
			return true
		}
	}
	return false
}
