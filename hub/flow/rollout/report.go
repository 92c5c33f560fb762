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

// reportOf returns an agent's report on a Work.
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
		out.Message = "it is applied, but not healthy"
	}
	return out
}

// partReportOf returns an agent's report on the Work of a dependency. It ignores PersistentVolumeClaims that are Pending: a volume with
// WaitForFirstConsumer is bound only when a pod mounts it, and pods that wait for a volume show in the application's own health.
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

// worse returns the worse of two reports on parts of an application, which determines the whole. A refusal by the member is worse than a
// missing report.
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

// healthOf returns the worst health of the manifests; unknown if that of any is unknown and none is unhealthy.
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

// refused returns whether a member rejects an object for its content, so that retrying is useless. The agent quotes the member, so this
// matches the API server's messages for invalid and forbidden objects, and for denials by admission webhooks and policies.
func refused(message string) bool {
	_, words, found := strings.Cut(message, "the member refuses it: ")
	return found && (strings.Contains(words, " is invalid: ") || strings.Contains(words, " is forbidden: ") || strings.Contains(words, "denied the request") ||
		strings.Contains(words, "denied request"))
}
