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

// maxVerdicts bounds the clusters in an explanation; chosen ones come first.
const maxVerdicts = 100

// explanation explains the placement of an application.
type explanation struct {
	Report *explain.Report
	// To is a link to the explanation; empty if it is on this page. It is only made on request, because it repeats the
	// scheduler's decision for all clusters.
	To string
	// More is the number of clusters that are omitted.
	More int
	// Problem says why there is no explanation.
	Problem string
}

// explanation explains the placement of an application, on request or if the application is nowhere.
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

// rank orders verdicts: chosen clusters first, then those that could be.
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

// overridesOf returns the names of the override policies that apply to a Work.
func overridesOf(work *workv1alpha1.Work) []string { return override.Names(work.Annotations) }
