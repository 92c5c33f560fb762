package evictions

import (
	"slices"
	"time"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

const (
	// maxEvictions is how many evictions a binding records.
	maxEvictions = 10
	// failedFor is how long an application avoids a cluster in which it failed.
	failedFor = time.Hour
	// maxAnnotationBytes bounds all annotations of a binding together with the recorded targets, in bytes. Older hubs
	// wrote more of the other annotations than fits.
	maxAnnotationBytes = 240 << 10
	// maxPlainBytes is the size up to which the history is not compressed.
	maxPlainBytes = 16 << 10
	// maxTo is how many replacement clusters are recorded for a finished eviction.
	maxTo = 100
	// maxEvictionMessage is how much of a message is recorded, in bytes.
	maxEvictionMessage = 2 << 10
)

// Of returns the evictions that a binding records, oldest first; nothing if they cannot be decoded.
func Of(b workv1alpha2.Binding) []workv1alpha2.Eviction {
	annotations := b.GetAnnotations()
	out := unpack(read(annotations[contract.EvictionsAnnotation]))
	packed := read(annotations[contract.EvictionsPackedAnnotation])
	if len(packed) == 0 {
		return out
	}
	for i, e := range unpack(packed) {
		// An older hub, which does not know this annotation, may have ended the eviction and started another from the
		// cluster.
		if task := taskOf(b, e.From); task == nil || made(task).Equal(packed[i].Task) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b workv1alpha2.Eviction) int { return a.At.Compare(b.At.Time) })
	return out
}

// Set records evictions on a binding: the newest, and those in progress in preference to finished ones. If that is
// too long, the targets before the oldest are dropped, and if there is no room beside the other annotations, fewer
// evictions are recorded, or none: recording an eviction task itself always takes precedence. The binding must have
// the recorded tasks.
func Set(b workv1alpha2.Binding, evictions []workv1alpha2.Eviction) error {
	evictions = newest(evictions, maxEvictions)
	annotations := b.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	left := contract.MaxAnnotations - others(annotations)
	plain, packed, err := encode(b, evictions, min(left-(contract.MaxAnnotations-maxAnnotationBytes), contract.MaxEvictions))
	for err == nil && len(plain)+len(packed) > left && len(evictions) > 0 {
		evictions = newest(evictions, len(evictions)-1)
		plain, packed, err = encode(b, evictions, left)
	}
	if err != nil {
		return err
	}
	annotations[contract.EvictionsAnnotation] = string(plain)
	if len(plain) > left {
		delete(annotations, contract.EvictionsAnnotation)
	}
	delete(annotations, contract.EvictionsPackedAnnotation)
	if packed != nil {
		annotations[contract.EvictionsPackedAnnotation] = string(packed)
	}
	b.SetAnnotations(annotations)
	return nil
}

// newest returns at most this many evictions: the newest, and those in progress in preference to finished ones.
func newest(evictions []workv1alpha2.Eviction, most int) []workv1alpha2.Eviction {
	over := max(len(evictions)-most, 0)
	evictions = slices.DeleteFunc(slices.Clone(evictions), func(e workv1alpha2.Eviction) bool {
		if over == 0 || e.Ended == nil {
			return false
		}
		over--
		return true
	})
	return evictions[max(len(evictions)-most, 0):]
}

// others returns the length of a binding's other annotations, plus the keys of the history.
func others(annotations map[string]string) int {
	out := len(contract.EvictionsAnnotation) + len(contract.EvictionsPackedAnnotation)
	for key, value := range annotations {
		if key != contract.EvictionsAnnotation && key != contract.EvictionsPackedAnnotation {
			out += len(key) + len(value)
		}
	}
	return out
}

// FailedIn returns the clusters, sorted, that an application left recently because this version of its template was
// not healthy there.
func FailedIn(evictions []workv1alpha2.Eviction, template string, now time.Time) []string {
	var out []string
	for i := range evictions {
		e := &evictions[i]
		if e.Reason == workv1alpha2.EvictionApplicationFailure && e.Template == template && now.Sub(e.At.Time) < failedFor && e.How != workv1alpha2.EvictionReturned {
			out = append(out, e.From)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Gained returns the clusters, sorted, that have more of the application than before an eviction; none if the earlier
// targets are not known. If the workload is not divided, a cluster gains by becoming a target.
func Gained(e *workv1alpha2.Eviction, targets []workv1alpha2.TargetCluster) []string {
	if e.Before == nil {
		return nil
	}
	before := map[string]int32{}
	for i := range e.Before {
		before[e.Before[i].Name] = e.Before[i].Replicas
	}
	var out []string
	for i := range targets {
		if had, was := before[targets[i].Name]; !was || targets[i].Replicas > had {
			out = append(out, targets[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// TargetsBefore returns what an eviction records of the targets before it. It is not nil even if there were none,
// since that is known.
func TargetsBefore(targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(targets))
	for i := range targets {
		out[i] = workv1alpha2.TargetCluster{Name: targets[i].Name, Replicas: targets[i].Replicas}
	}
	return out
}
