package v1alpha2

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// Eviction is one departure of an application from a cluster, as its binding remembers it
// in the annotations contract.EvictionsAnnotation and contract.EvictionsPackedAnnotation: also when the task is over.
//
// +kubebuilder:object:generate=false
type Eviction struct {
	// From is the cluster that was left.
	From string `json:"from"`
	// At is when, to the second.
	At metav1.Time `json:"at"`
	// Reason is that of the task, and Message the sentence.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Template is spec.resource.resourceVersion then: another version of the template
	// may fare better in that cluster.
	Template string `json:"template,omitempty"`
	// Before are the targets before it, by name, as long as it is under way: made by TargetsBefore. Nil is that they
	// are not known, because there was no room for them; then nobody is known to have gained.
	Before []TargetCluster `json:"before,omitzero"`
	// To are the clusters that took the place, the first of them if these are many, Ended is when it was over, and How
	// the way in which it ended.
	To    []string     `json:"to,omitempty"`
	Ended *metav1.Time `json:"ended,omitempty"`
	How   string       `json:"how,omitempty"`
}

const (
	// maxEvictions is how many a binding remembers.
	maxEvictions = 10
	// failedFor is how long a cluster in which an application failed is none to go to
	// for it.
	failedFor = time.Hour
	// maxEvictionBytes is how long all that a binding remembers may be, in bytes: half of what the API server takes of
	// annotations in an object. maxAnnotationBytes is how long all annotations of a binding may be with it, a bit less than
	// what the API server takes: a placement that names thousands of clusters takes more than the other half.
	maxEvictionBytes   = 128 << 10
	maxAnnotationBytes = 240 << 10
	// maxPlainBytes is how long it may be without being compressed.
	maxPlainBytes = 16 << 10
	// maxTo is how many clusters an eviction that is over names that took the place.
	maxTo = 100
	// maxEvictionMessage is how much is remembered of a sentence, in bytes.
	maxEvictionMessage = 2 << 10
)

// EvictionsOf returns what a binding remembers, the oldest first; nothing if that cannot
// be read.
func EvictionsOf(b Binding) []Eviction {
	annotations := b.GetAnnotations()
	out := unpack(read(annotations[contract.EvictionsAnnotation]))
	packed := read(annotations[contract.EvictionsPackedAnnotation])
	if len(packed) == 0 {
		return out
	}
	for i, e := range unpack(packed) {
		// A hub of before, which knows nothing of this annotation, may have ended it and left the cluster anew.
		if task := taskOf(b, e.From); task == nil || made(task).Equal(packed[i].Task) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Eviction) int { return a.At.Compare(b.At.Time) })
	return out
}

// SetEvictions has a binding remember these: the newest of them, and what is under way rather
// than what is over. If that is too long, the targets before the oldest are not known any more. The tasks of the binding are those that are remembered.
func SetEvictions(b Binding, evictions []Eviction) error {
	over := max(len(evictions)-maxEvictions, 0)
	evictions = slices.DeleteFunc(slices.Clone(evictions), func(e Eviction) bool {
		if over == 0 || e.Ended == nil {
			return false
		}
		over--
		return true
	})
	if len(evictions) > maxEvictions {
		evictions = evictions[len(evictions)-maxEvictions:]
	}
	annotations := b.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	plain, packed, err := encode(b, evictions, room(annotations))
	if err != nil {
		return err
	}
	annotations[contract.EvictionsAnnotation] = string(plain)
	delete(annotations, contract.EvictionsPackedAnnotation)
	if packed != nil {
		annotations[contract.EvictionsPackedAnnotation] = string(packed)
	}
	b.SetAnnotations(annotations)
	return nil
}

// room is how long what a binding remembers may be beside its other annotations.
func room(annotations map[string]string) int {
	out := maxAnnotationBytes
	for key, value := range annotations {
		if key != contract.EvictionsAnnotation && key != contract.EvictionsPackedAnnotation {
			out -= len(key) + len(value)
		}
	}
	return min(out-len(contract.EvictionsAnnotation)-len(contract.EvictionsPackedAnnotation), maxEvictionBytes)
}

// FailedIn returns the clusters in which this version of an application's template was not healthy
// of late, so that it left them, sorted.
func FailedIn(evictions []Eviction, template string, now time.Time) []string {
	var out []string
	for i := range evictions {
		e := &evictions[i]
		if e.Reason == EvictionApplicationFailure && e.Template == template && now.Sub(e.At.Time) < failedFor && e.How != EvictionReturned {
			out = append(out, e.From)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Gained returns the clusters that have more of the application than before an eviction,
// sorted; none if it is not known what was before. Of what is not divided a cluster gains by being a target.
func (e *Eviction) Gained(targets []TargetCluster) []string {
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

// TargetsBefore returns what an eviction remembers of the targets before it. It is not nil: that there were none is known.
func TargetsBefore(targets []TargetCluster) []TargetCluster {
	out := make([]TargetCluster, len(targets))
	for i := range targets {
		out[i] = TargetCluster{Name: targets[i].Name, Replicas: targets[i].Replicas}
	}
	return out
}
