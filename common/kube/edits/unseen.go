package edits

import (
	"errors"
	"fmt"
	"time"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// tellAfter is how long an edit may wait before that is reported. After a start the detector reconciles all
// templates.
const tellAfter = time.Minute

// ErrNotSeen says that an edit waits.
var ErrNotSeen = errors.New("the hub does not know yet which policy and RolloutStrategy apply to it")

// Unseen is an edit that waits. The zero value means none.
type Unseen struct {
	// Template is the object that may have been edited.
	Template workv1alpha2.ObjectReference
	// Since is since when a stage has been waiting.
	Since time.Time
}

// IsZero returns whether no edit waits.
func (e Unseen) IsZero() bool { return e.Since.IsZero() }

// OrLonger returns the edit that has waited longer.
func (e Unseen) OrLonger(other Unseen) Unseen {
	if e.IsZero() || !other.IsZero() && other.Since.Before(e.Since) {
		return other
	}
	return e
}

// TellIn returns the delay before the wait is to be reported; 0 means now.
func (e Unseen) TellIn(now time.Time) time.Duration { return max(0, e.Since.Add(tellAfter).Sub(now)) }

// Err returns an error that says which edit waits, for what, and what to do.
func (e Unseen) Err() error {
	ref := &e.Template
	look := fmt.Sprintf("hub events %s/%s", ref.Kind, ref.Name)
	if ref.Namespace != "" {
		look += " -n " + ref.Namespace
	}
	return fmt.Errorf("%w; it waits since %s until the hub has looked at %s as it is now. See %s and the events of its policy; if they say nothing, look for \"detector\" in the "+
		"log of the hub, which has to be allowed to list and watch the kind", ErrNotSeen, e.Since.UTC().Format(time.RFC3339), e.Named(), look)
}

// Named formats the template for messages.
func (e Unseen) Named() string { return fmt.Sprintf("%s %q", e.Template.Kind, e.Template.Name) }
