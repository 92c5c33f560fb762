package compression

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// Handler compresses the responses of next for clients that prefer it. It must be behind authentication, which tells
// whose watches' histories are counted.
func Handler(next http.Handler) http.Handler {
	all, histories := newCompressors(), &budget{}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodHead || req.Header.Get("Upgrade") != "" || !preferred(req.Header) {
			next.ServeHTTP(w, req)
			return
		}
		answer := &answer{ResponseWriter: w, compressors: all, watch: watches(req), history: history{budget: histories, user: userName(req)}}
		defer answer.history.end()
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), req)
		answer.finish() // not after a panic, so that the client sees a broken response
	})
}

func watches(req *http.Request) bool {
	info, known := request.RequestInfoFrom(req.Context())
	return known && info.IsResourceRequest && info.Verb == "watch"
}

func userName(req *http.Request) string {
	who, known := request.UserFrom(req.Context())
	if !known {
		return ""
	}
	return who.GetName()
}
