package dashboard

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/override"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
)

// maxVerdicts bounds how many clusters an explanation tells of; those that are chosen come
// first.
const maxVerdicts = 100

// explanation is why an application is where it is.
type explanation struct {
	Report *explain.Report
	// To is where it is told; empty if it is told here. It is not told unasked, since a
	// decision about all clusters is made for it.
	To string
	// More is how many clusters it does not tell of.
	More int
	// Problem says why it cannot be told.
	Problem string
}

// explanation says why an application is where it is, if that is asked for, or if it is
// nowhere.
func (s *Server) explanation(ctx context.Context, v *visit, a *applications.Application) explanation {
	if v.text("why") == "" && a.State != applications.Unscheduled {
		return explanation{To: v.with("why", "yes")}
	}
	reader, err := view.New(v.user.Hub, s.Mapper, s.served, s.clock)
	if err != nil {
		return explanation{Problem: err.Error()}
	}
	report, err := reader.Explain(ctx, view.Ref{GroupVersionKind: schema.FromAPIVersionAndKind(a.APIVersion, a.Kind), Namespace: a.Namespace, Name: a.Name})
	if err != nil {
		return explanation{Problem: unreadable(err, "what explains this")}
	}
	out := explanation{Report: report}
	for i := range report.Attempts {
		verdicts := report.Attempts[i].Clusters
		slices.SortStableFunc(verdicts, func(x, y explain.Verdict) int { return cmp.Compare(rank(x), rank(y)) })
		if more := len(verdicts) - maxVerdicts; more > 0 {
			out.More += more
			report.Attempts[i].Clusters = verdicts[:maxVerdicts]
		}
	}
	return out
}

// rank puts the clusters first that are chosen, then those that could be.
func rank(v explain.Verdict) int {
	switch {
	case v.Chosen:
		return 0
	case v.Filter == "":
		return 1
	default:
		return 2
	}
}

// overridesOf names the override policies that changed what a cluster was sent.
func overridesOf(work *workv1alpha1.Work) []string { return override.Names(work.Annotations) }
