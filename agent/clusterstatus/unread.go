package clusterstatus

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// forbiddenPatience is how long the member must have forbidden reading objects before they count as unknown: an
	// API server that is starting may briefly forbid what it allows afterwards.
	forbiddenPatience = 5 * time.Second
	// failingPatience is the same for other failures.
	failingPatience = time.Minute
)

// unread tracks why some objects can no longer be read.
type unread struct {
	// what names the objects.
	what string
	// since is when reading first failed, and forbidden when it was first forbidden; zero if that is not the case.
	since, forbidden time.Time
	// reason and message are for a condition; empty while the objects are known.
	reason, message string
}

// Note records an error of the member, and returns whether the objects become unknown by it. Errors of an unreachable
// member, or of one that rejects the agent's credentials, do not count: the condition Ready reports them.
func (u *unread) Note(err error, now time.Time) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsUnauthorized(err) {
		return false
	}
	if u.since.IsZero() {
		u.since = now
	}
	if !apierrors.IsForbidden(err) {
		u.forbidden = time.Time{}
	} else if u.forbidden.IsZero() {
		u.forbidden = now
	}
	reason := clusterv1alpha1.ReasonReadFailing
	advice := "check the member's API server"
	if apierrors.IsForbidden(err) {
		reason, advice = clusterv1alpha1.ReasonReadForbidden, "give the agent's account there the verbs list and watch for "+u.what
	}
	lasts := now.Sub(u.since) >= failingPatience || !u.forbidden.IsZero() && now.Sub(u.forbidden) >= forbiddenPatience
	if !lasts || u.reason == reason { // the message of a failure may differ each time
		return false
	}
	isNew := u.reason == ""
	u.reason = reason
	u.message = fmt.Sprintf("The member does not let the agent read %s (%s): %s", u.what, status.Status().Message, advice)
	return isNew
}

// Excuse restarts the time of failures other than refusals, because the member says that it is not ready.
func (u *unread) Excuse(now time.Time) {
	if !u.since.IsZero() {
		u.since = now
	}
}

// Over records that the objects were read.
func (u *unread) Over() { *u = unread{what: u.what} }
