package entry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the kinds that were applied in the member, oldest first.
type Kinds struct {
	Kinds []metav1.GroupVersionKind `json:"kinds,omitempty"`
}

// KindsOf returns kinds in the form that the journal stores.
func KindsOf(kinds []schema.GroupVersionKind) Kinds {
	out := Kinds{Kinds: make([]metav1.GroupVersionKind, 0, len(kinds))}
	for _, k := range kinds {
		out.Kinds = append(out.Kinds, metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
	}
	return out
}

// List returns the kinds as they were given to KindsOf.
func (k Kinds) List() []schema.GroupVersionKind {
	out := make([]schema.GroupVersionKind, 0, len(k.Kinds))
	for _, one := range k.Kinds {
		out = append(out, schema.GroupVersionKind{Group: one.Group, Version: one.Version, Kind: one.Kind})
	}
	return out
}
