package clusterstatus

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// forbiddenPatience is for how long the member must have forbidden to read objects for them to count as not known: an API server that starts
	// forbids for a moment what it gives afterwards.
	forbiddenPatience = 5 * time.Second
	// failingPatience is the same for a member that fails to show them.
	failingPatience = time.Minute
)

// unread says why what was read of some objects is not known any more.
type unread struct {
	// what they are.
	what string
	// since is when they could not be read first, and forbidden since when they may not be; zero if that is not so.
	since, forbidden time.Time
	// reason and message are those of a condition; empty as long as they are known.
	reason, message string
}

// Note notes what the member answered instead, and says whether they are not known any more by that. That nobody answered, or that the member does not
// know the agent any more, is told of the Cluster.
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
	advice := "see to the member's API server"
	if apierrors.IsForbidden(err) {
		reason, advice = clusterv1alpha1.ReasonReadForbidden, "give the agent's account there the verbs list and watch for "+u.what
	}
	lasts := now.Sub(u.since) >= failingPatience || !u.forbidden.IsZero() && now.Sub(u.forbidden) >= forbiddenPatience
	if !lasts || u.reason == reason { // what fails may say another thing each time
		return false
	}
	isNew := u.reason == ""
	u.reason = reason
	u.message = fmt.Sprintf("The member does not let the agent read %s (%s): %s", u.what, status.Status().Message, advice)
	return isNew
}

// Excuse has what failed so far not count: the member says that it is not ready.
func (u *unread) Excuse(now time.Time) {
	if !u.since.IsZero() {
		u.since = now
	}
}

// Over notes that they are read.
func (u *unread) Over() { *u = unread{what: u.what} }
