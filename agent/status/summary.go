package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// maxFailures is how many failing Works a Summary names.
const maxFailures = 10

// Summary summarizes the Works of the member, and what the hub does not have yet.
type Summary struct {
	// Known counts the Works that were processed, Applied and Failing those of them that are applied and that are
	// not; the rest are suspended.
	Known   int `json:"known"`
	Applied int `json:"applied"`
	Failing int `json:"failing"`
	// Failures are some of the failing Works, by name.
	Failures []Failure `json:"failures,omitempty"`
	// Unsent counts the Works whose latest status the hub lacks; Oldest is since when.
	Unsent int       `json:"unsent"`
	Oldest time.Time `json:"oldest,omitzero"`
}

// Failure is a Work that fails, and why.
type Failure struct {
	Work    string `json:"work"`
	Message string `json:"message"`
}

// Summary returns the present summary.
func (r *Reporter) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out Summary
	for name, f := range r.works {
		if !f.reported {
			continue
		}
		out.Known++
		if c := meta.FindStatusCondition(f.conditions, workv1alpha1.WorkApplied); c != nil && c.Status == metav1.ConditionTrue {
			out.Applied++
		} else if c != nil {
			out.Failing++
			out.Failures = append(out.Failures, Failure{Work: name.Name, Message: c.Message})
		}
		if !f.unsentSince.IsZero() {
			out.Unsent++
			if out.Oldest.IsZero() || f.unsentSince.Before(out.Oldest) {
				out.Oldest = f.unsentSince
			}
		}
	}
	slices.SortFunc(out.Failures, func(a, b Failure) int {
		if a.Work < b.Work {
			return -1
		}
		return 1
	})
	out.Failures = out.Failures[:min(len(out.Failures), maxFailures)]
	return out
}

// settle records that everything about a Work was sent.
func (r *Reporter) settle(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[name]; ok {
		f.unsentSince = time.Time{}
	}
}
