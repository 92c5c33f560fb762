package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MisspeltKindError says that a kind is served, but under a name with different case. It is also a
// meta.NoKindMatchError.
type MisspeltKindError struct {
	// Kind is the requested kind.
	Kind schema.GroupVersionKind
	// Served is the correct spelling.
	Served string
}

// Error names both.
func (e *MisspeltKindError) Error() string {
	return fmt.Sprintf("there is no kind %q in %s, but %q", e.Kind.Kind, e.Kind.GroupVersion(), e.Served)
}

// Unwrap returns a meta.NoKindMatchError, for meta.IsNoMatchError.
func (e *MisspeltKindError) Unwrap() error {
	return &meta.NoKindMatchError{GroupKind: e.Kind.GroupKind(), SearchedVersions: []string{e.Kind.Version}}
}

// Mapping returns the resource of a kind. Client libraries' mappers accept "deployment" for "Deployment"; no other
// code here does, so its templates would be treated as having no replicas. The error matches meta.IsNoMatchError if
// there is no such kind.
func Mapping(mapper meta.RESTMapper, kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", kind, err)
	}
	served, err := mapper.KindFor(mapping.Resource)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", kind, err)
	}
	if served.Kind != kind.Kind {
		return nil, &MisspeltKindError{Kind: kind, Served: served.Kind}
	}
	return mapping, nil
}

// IsNamespaced returns whether a kind is namespaced. Code that acts for somebody with rights in one namespace must
// check it: a client omits the namespace from a request about a cluster-scoped kind, and reaches objects that belong
// to everybody. The error matches meta.IsNoMatchError if there is no such kind.
func IsNamespaced(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, fmt.Errorf("looking up kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
