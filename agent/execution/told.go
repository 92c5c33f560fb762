package execution

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// reported returns whether the hub has a condition about this generation of a Work.
func reported(work *workv1alpha1.Work, condition string) bool {
	c := meta.FindStatusCondition(work.Status.Conditions, condition)
	return c != nil && c.ObservedGeneration == work.Generation
}

// told returns what the hub was last told about the manifests of a Work, if it was about this generation. For a Work
// from the journal that may be outdated, so it returns nil.
func told(work *workv1alpha1.Work, manifests []plan.Manifest) map[int]plan.Outcome {
	if !reported(work, workv1alpha1.WorkApplied) || isKept(manifests) {
		return nil
	}
	return plan.Told(meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied), manifests)
}

// silent returns, by ordinal, whether the member does not answer about a manifest for now.
func silent(outcomes []plan.Outcome) []bool {
	out := make([]bool, len(outcomes))
	for _, o := range outcomes {
		out[o.Ordinal] = o.Result == plan.Unanswered
	}
	return out
}

// mayTell returns whether the outcomes of a Work may be reported. With the journal it is not known what the hub was
// told about manifests on which the member does not answer; the report follows when the hub is back, and the hub has
// nothing wrong until then.
func mayTell(manifests []plan.Manifest, known []plan.Outcome) bool {
	return !isKept(manifests) || !slices.ContainsFunc(known, func(o plan.Outcome) bool { return o.Result == plan.Unanswered })
}

// isKept returns whether manifests come from the journal.
func isKept(manifests []plan.Manifest) bool {
	return slices.ContainsFunc(manifests, func(m plan.Manifest) bool { return m.Kept })
}
