package execution

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/execution/plan"
)

// KindChangedError says that the member serves a kind elsewhere than the clients' mapping says, for instance after a
// CustomResourceDefinition was created again with another scope or plural. Clients and caches keep a mapping for
// ever, so they have to be created again.
type KindChangedError struct {
	object   plan.Object
	resource string
	// was and is say whether it is namespaced, according to the clients and now.
	was, is bool
}

// Error implements error.
func (e *KindChangedError) Error() string {
	scope := func(namespaced bool) string {
		if namespaced {
			return "namespaced"
		}
		return "cluster-scoped"
	}
	before := ""
	if e.was != e.is {
		before = ", and was " + scope(e.was)
	}
	return fmt.Sprintf("the member serves the kind %s of %s differently than before (as %s, %s%s); the agent starts again for that kind, and tries again by itself",
		e.object.Kind, e.object.GroupVersion(), e.resource, scope(e.is), before)
}

// remapped returns a KindChangedError, and makes the stage end with it, if the member no longer lists a kind where
// the clients' mapping says.
func (r *Reconciler) remapped(object plan.Object, listed []metav1.APIResource) error {
	mapping, err := r.memberClient.RESTMapper().RESTMapping(object.GroupKind(), object.Version)
	if err != nil {
		return nil //nolint:nilerr // The clients have no place for it so far.
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if slices.ContainsFunc(listed, func(one metav1.APIResource) bool {
		return one.Name == mapping.Resource.Resource && one.Namespaced == namespaced
	}) {
		return nil // a server may serve a kind as several resources, like OpenShift's Template
	}
	changed := &KindChangedError{object: object, resource: listed[0].Name, was: namespaced, is: listed[0].Namespaced}
	select {
	case r.kindChanged <- changed:
	default: // one is enough
	}
	return changed
}

// awaitKindChange ends the stage when a kind is served elsewhere, so that the clients are created again; but only
// every few minutes, in case somebody keeps changing it.
func (r *Reconciler) awaitKindChange(ctx context.Context) error {
	var changed error
	select {
	case <-ctx.Done():
		return nil
	case changed = <-r.kindChanged:
	}
	if wait := r.anewFrom.Sub(r.clock.Now()); wait > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(wait):
		}
	}
	return changed
}
