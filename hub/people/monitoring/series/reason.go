package series

import "strings"

// The reasons, a closed set.
const (
	UnknownKind      = "UnknownKind"
	MissingNamespace = "MissingNamespace"
	Conflict         = "Conflict"
	Forbidden        = "Forbidden"
	Invalid          = "Invalid"
	Denied           = "Denied"
	QuotaExceeded    = "QuotaExceeded"
	Unanswered       = "Unanswered"
	Other            = "Other"
)

// Reasons returns every reason.
func Reasons() []string {
	return []string{UnknownKind, MissingNamespace, Conflict, Forbidden, Invalid, Denied, QuotaExceeded, Unanswered, Other}
}

// words are lower-case words that occur in the messages with a reason. The first match wins: an exceeded quota, for
// example, is also forbidden.
type words struct {
	reason string
	any    []string
}

func table() []words {
	return []words{
		{UnknownKind, []string{"does not know the kind"}},
		{MissingNamespace, []string{"does not exist in the member", "is being deleted in the member"}},
		{Conflict, []string{"conflict", "already exists", "not ours", "being changed in the member", "belongs to"}},
		{Unanswered, []string{"does not answer", "is busy"}},
		{QuotaExceeded, []string{"exceeded quota"}},
		{Denied, []string{"denied", "violates podsecurity"}},
		{Invalid, []string{"is invalid", "immutable", "unknown field", "strict decoding", "validation"}},
		{Forbidden, []string{"forbidden", "cannot "}},
	}
}

// ReasonOf returns the reason of a message.
func ReasonOf(message string) string {
	message = strings.ToLower(message)
	for _, w := range table() {
		for _, word := range w.any {
			if strings.Contains(message, word) {
				return w.reason
			}
		}
	}
	return Other
}
