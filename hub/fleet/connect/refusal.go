package connect

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// refusal is an error response.
type refusal struct {
	reason  metav1.StatusReason
	message string
	// cluster is the name of the requested cluster; it may be empty.
	cluster string
	// retry is the delay for Retry-After; 0 omits the header.
	retry time.Duration
}

// statusCode returns the HTTP status for a reason.
func statusCode(reason metav1.StatusReason) int {
	switch reason {
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonNotFound:
		return http.StatusNotFound
	case metav1.StatusReasonMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case metav1.StatusReasonNotAcceptable:
		return http.StatusNotAcceptable
	case metav1.StatusReasonBadRequest:
		return http.StatusBadRequest
	case metav1.StatusReasonConflict:
		return http.StatusConflict
	case metav1.StatusReasonGone:
		return http.StatusGone
	case metav1.StatusReasonTooManyRequests:
		return http.StatusTooManyRequests
	case metav1.StatusReasonServiceUnavailable:
		return http.StatusServiceUnavailable
	case metav1.StatusReasonTimeout:
		return http.StatusGatewayTimeout
	case reasonUnsent:
		return http.StatusRequestTimeout
	case reasonBadGateway:
		return http.StatusBadGateway
	case reasonLoop:
		return http.StatusLoopDetected
	default:
		return http.StatusInternalServerError
	}
}

// Reasons that Kubernetes does not define.
const (
	reasonBadGateway metav1.StatusReason = "BadGateway"
	reasonUnsent     metav1.StatusReason = "RequestTimeout"
	reasonLoop       metav1.StatusReason = "LoopDetected"
)

// reasons returns all reasons for which a request or a line is refused.
func reasons() []metav1.StatusReason {
	return []metav1.StatusReason{
		metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonMethodNotAllowed,
		metav1.StatusReasonNotAcceptable, metav1.StatusReasonBadRequest, metav1.StatusReasonConflict, metav1.StatusReasonGone,
		metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError,
		reasonBadGateway, reasonUnsent, reasonLoop,
	}
}

// refuse writes a refusal.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why refusal) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(statusCode(why.reason)), Reason: why.reason, Message: why.message,
	}
	if why.cluster != "" {
		status.Details = &metav1.StatusDetails{Group: contract.ConnectGroup, Kind: contract.ConnectClustersResource, Name: why.cluster}
	}
	if why.retry > 0 {
		seconds := int32((why.retry + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = seconds
	}
	s.metrics.refused.WithLabelValues(string(why.reason)).Inc()
	if isDiscovery(r.URL.Path) {
		http.Error(w, status.Message, int(status.Code))
		return
	}
	answer(w, int(status.Code), status)
}

// isDiscovery says whether a request is the first one of kubectl, which shows the reason of a refusal only if it is
// plain text.
func isDiscovery(path string) bool {
	return strings.HasSuffix(path, "/"+contract.ProxySubresource+"/api") || strings.HasSuffix(path, "/"+contract.ProxySubresource+"/apis")
}

// answer writes an object as JSON.
func answer(w http.ResponseWriter, status int, object any) {
	answerAs(w, status, "application/json", object)
}

func answerAs(w http.ResponseWriter, status int, contentType string, object any) {
	raw, err := json.Marshal(object)
	if err != nil { // cannot happen: only types of this package and of Kubernetes are written
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // the client may be gone
}

// jitter returns a random number from 0 to 1.
func jitter() float64 { return rand.Float64() } //nolint:gosec // Jitter for retries needs no secure randomness.
