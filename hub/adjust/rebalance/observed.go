package rebalance

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
)

// observe returns the observed workloads of a WorkloadRebalancer, sorted: each workload in its spec, once, with its
// result so far, and each workload that was in its spec before and has a result.
func observe(named []appsv1alpha1.ObjectReference, before []appsv1alpha1.ObservedWorkload) []appsv1alpha1.ObservedWorkload {
	known := make(map[appsv1alpha1.ObjectReference]appsv1alpha1.ObservedWorkload, len(before))
	for _, o := range before {
		known[o.Workload] = o
	}
	out := make([]appsv1alpha1.ObservedWorkload, 0, len(named))
	for _, workload := range named {
		o := known[workload]
		o.Workload = workload
		out = append(out, o)
	}
	for _, o := range before {
		if o.Result == appsv1alpha1.RebalanceSuccessful {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b appsv1alpha1.ObservedWorkload) int { return compare(a.Workload, b.Workload) })
	return slices.CompactFunc(out, func(a, b appsv1alpha1.ObservedWorkload) bool { return a.Workload == b.Workload })
}

func compare(a, b appsv1alpha1.ObjectReference) int {
	return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// conclude updates a status with the results. It is finished when every workload has a result, at the time of the last
// one.
func conclude(status *appsv1alpha1.WorkloadRebalancerStatus, generation int64, observed []appsv1alpha1.ObservedWorkload, now time.Time) {
	open, news := false, false
	for _, o := range observed {
		open = open || o.Result == ""
		news = news || !slices.Contains(status.ObservedWorkloads, o)
	}
	switch {
	case open:
		status.FinishTime = nil
	case status.FinishTime == nil || news:
		status.FinishTime = &metav1.Time{Time: now}
	}
	status.ObservedWorkloads, status.ObservedGeneration = observed, generation
}

// expiry returns the delay until a WorkloadRebalancer is to be deleted, which may be negative; false if it is not.
func expiry(r *appsv1alpha1.WorkloadRebalancer, now time.Time) (time.Duration, bool) {
	if r.Spec.TTLSecondsAfterFinished == nil || r.Status.FinishTime == nil || r.Status.ObservedGeneration != r.Generation {
		return 0, false
	}
	end := r.Status.FinishTime.Add(time.Duration(*r.Spec.TTLSecondsAfterFinished) * time.Second)
	return end.Sub(now), true
}
