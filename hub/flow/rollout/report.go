package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// reportOf reads what an agent says of a Work.
func reportOf(work *workv1alpha1.Work) judge.Report {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.ObservedGeneration != work.Generation || work.Status.ObservedGeneration != work.Generation {
		return judge.Report{}
	}
	out := judge.Report{Current: true, Applied: applied.Status == metav1.ConditionTrue}
	if !out.Applied {
		out.Message, out.Refused = applied.Message, refused(applied.Message)
		return out
	}
	out.Health = healthOf(work.Status.ManifestStatuses)
	if out.Health == judge.Unhealthy {
		out.Message = "it is applied, and not healthy"
	}
	return out
}

// healthOf is the worst of what is reported of the manifests; unknown as long as one is not seen.
func healthOf(manifests []workv1alpha1.ManifestStatus) judge.Health {
	if len(manifests) == 0 {
		return judge.Unknown
	}
	out := judge.Healthy
	for i := range manifests {
		switch manifests[i].Health {
		case workv1alpha1.Unhealthy:
			return judge.Unhealthy
		case workv1alpha1.Healthy:
		default:
			out = judge.Unknown
		}
	}
	return out
}

// refused says whether a member refuses an object for what is in it, so that trying again is of no
// use. The agent says it in the words of the member: those of the API server for what is invalid
// and forbidden, and those in which it tells of admission webhooks and policies.
func refused(message string) bool {
	_, words, found := strings.Cut(message, "the member refuses it: ")
	return found && (strings.Contains(words, " is invalid: ") || strings.Contains(words, " is forbidden: ") || strings.Contains(words, "denied the request") ||
		strings.Contains(words, "denied request"))
}
