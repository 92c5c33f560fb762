package rollout

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// reportOf reads what an agent says of a Work.
func reportOf(work *workv1alpha1.Work) judge.Report {
	return reportWith(work, work.Status.ManifestStatuses)
}

func reportWith(work *workv1alpha1.Work, manifests []workv1alpha1.ManifestStatus) judge.Report {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.ObservedGeneration != work.Generation || work.Status.ObservedGeneration != work.Generation {
		return judge.Report{}
	}
	out := judge.Report{Current: true, Applied: applied.Status == metav1.ConditionTrue}
	if !out.Applied {
		out.Message, out.Refused = applied.Message, refused(applied.Message)
		return out
	}
	out.Health = healthOf(manifests)
	if out.Health == judge.Unhealthy {
		out.Message = "it is applied, and not healthy"
	}
	return out
}

// partReportOf reads what an agent says of a Work that an application needs. A claim that is Pending says nothing: where a volume is bound
// on first use it is so until a pod mounts it, and pods that wait for a volume are what the application is judged by.
func partReportOf(work *workv1alpha1.Work) judge.Report {
	if !slices.ContainsFunc(work.Status.ManifestStatuses, isPendingClaim) {
		return reportOf(work)
	}
	others := slices.DeleteFunc(slices.Clone(work.Status.ManifestStatuses), isPendingClaim)
	out := reportWith(work, others)
	if out.Applied && len(others) == 0 {
		out.Health = judge.Healthy
	}
	return out
}

func isPendingClaim(m workv1alpha1.ManifestStatus) bool {
	if m.Identifier.Group != corev1.GroupName || m.Identifier.Kind != "PersistentVolumeClaim" || m.Status == nil {
		return false
	}
	var status corev1.PersistentVolumeClaimStatus
	return json.Unmarshal(m.Status.Raw, &status) == nil && status.Phase == corev1.ClaimPending
}

// worse is what is said of an application of which one part is reported on as a, and another as b: all is as the worst of it is, and
// what a member refuses is refused, whatever is not reported yet.
func worse(a, b judge.Report) judge.Report {
	rank := func(r judge.Report) int {
		return slices.Index([]bool{
			r.Current && r.Refused, !r.Current, !r.Applied, r.Health == judge.Unhealthy, r.Health != judge.Healthy, true,
		}, true)
	}
	if rank(b) < rank(a) {
		return b
	}
	return a
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
