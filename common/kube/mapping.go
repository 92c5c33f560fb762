package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MisspeltKindError says that a kind is served, but under a name of other case. It is a
// meta.NoKindMatchError, too.
type MisspeltKindError struct {
	// Kind as it was asked for.
	Kind schema.GroupVersionKind
	// Served is how it is spelt.
	Served string
}

// Error names both.
func (e *MisspeltKindError) Error() string {
	return fmt.Sprintf("there is no kind %q in %s, but %q", e.Kind.Kind, e.Kind.GroupVersion(), e.Served)
}

// Unwrap lets meta.IsNoMatchError find what it looks for.
func (e *MisspeltKindError) Unwrap() error {
	return &meta.NoKindMatchError{GroupKind: e.Kind.GroupKind(), SearchedVersions: []string{e.Kind.Version}}
}

// Mapping says where the objects of a kind are served. The mappers of client libraries take
// "deployment" for "Deployment"; nothing else here does, so that its templates would be
// taken for something without replicas. The error is one of meta.IsNoMatchError if
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

// IsNamespaced says whether the objects of a kind are in namespaces. Who acts for somebody with rights in one namespace asks: a client
// leaves the namespace out of a request about any other kind, and reaches what belongs to everybody. The error is one of
// meta.IsNoMatchError if there is no such kind.
func IsNamespaced(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, fmt.Errorf("looking up kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
