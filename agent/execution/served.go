package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/kube"
)

// Discovery asks the member, anew each time, which kinds it serves. It lists a group whose server
// does not answer as well, and fails for what is in it.
type Discovery interface {
	// ServerGroupsWithContext returns all groups and their versions.
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
	// ServerResourcesForGroupVersionWithContext returns what is in one version of a group.
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	// Ready fails as long as the member says that it is not ready: while its API server starts, it answers without an error and
	// leaves out what it has not read yet, such as all that CustomResourceDefinitions define. A member that does not let the
	// agent ask counts as ready.
	Ready(ctx context.Context) error
}

// unserved says whether an error is that the member does not serve a kind in the version in which
// it was asked for. That says nothing about its objects: it may serve them in another one, as it
// does when the operator that defines the kind was upgraded.
func unserved(err error) bool {
	return err != nil && (meta.IsNoMatchError(err) || kube.IsNoSuchResource(err))
}

// mapping returns where the member has the objects of a kind. For a kind that it was found
// not to know, it is asked only now and then. The mapper forgets no kind: that one is gone is said by the refusal of its watch, or of
// another request. Then its watch ends.
func (r *Reconciler) mapping(ctx context.Context, work types.NamespacedName, object plan.Object) (*meta.RESTMapping, error) {
	unknown := &meta.NoKindMatchError{GroupKind: object.GroupKind(), SearchedVersions: []string{object.Version}}
	of := need{kind: object.GroupVersionKind}
	if !r.prerequisites.Ask(of, work, r.clock.Now()) {
		return nil, unknown
	}
	mapping, err := r.memberClient.RESTMapper().RESTMapping(object.GroupKind(), object.Version)
	if err == nil && (r.prerequisites.IsUnserved(of) || r.kinds.isGone(object)) {
		served, failed := r.serves(ctx, object)
		if failed != nil {
			return nil, failed
		}
		if !served {
			mapping, err = nil, unknown
		}
	}
	switch {
	case meta.IsNoMatchError(err):
		r.prerequisites.Missing(of, work, r.clock.Now())
	case err == nil:
		r.wake(r.prerequisites.Met(of))
	}
	return mapping, err
}

// serves says whether the member serves the kind of an object in its version, and ends the watch of one that it does not. One that is not ready may leave
// out what it serves, so nothing follows from that.
func (r *Reconciler) serves(ctx context.Context, object plan.Object) (bool, error) {
	if r.discovery.Ready(ctx) != nil {
		return false, nil //nolint:nilerr // It is asked again.
	}
	found, served, err := r.servedSoFar(ctx, object)
	if err != nil || served && found.Version == object.Version {
		return err == nil, err
	}
	return false, r.kinds.Close(ctx, object.GroupVersionKind)
}

// noteUnserved has the member asked whether it serves a kind before anything else is asked of that, if this error of a request says that it does not.
func (r *Reconciler) noteUnserved(work types.NamespacedName, object plan.Object, err error) {
	if unserved(err) {
		r.prerequisites.Unserved(need{kind: object.GroupVersionKind}, work, r.clock.Now())
	}
}

// known returns the object in a version in which the member is known to serve its kind, which need not be that of now, and says false if
// it serves the kind in none.
func (r *Reconciler) known(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	switch _, err := r.memberClient.RESTMapper().RESTMapping(object.GroupKind(), object.Version); {
	case err == nil && !r.kinds.isGone(object):
		return object, true, nil
	case err == nil, unserved(err): // the mapper forgets no kind
		return r.served(ctx, object)
	default:
		return object, false, fmt.Errorf("looking up the kind of %s in the member: %w", object, err)
	}
}

// served returns the object in a version in which the member serves its kind now: its own, or else
// the one that the member prefers. It says false if it serves the kind in none: then there are no
// objects of it. An error says that the member did not answer for some version, or is not ready to.
func (r *Reconciler) served(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	found, ok, err := r.servedSoFar(ctx, object)
	if ok || err != nil {
		return found, ok, err
	}
	// That there is none is an answer only from a member that was ready before it was asked.
	if err := r.discovery.Ready(ctx); err != nil {
		return object, false, fmt.Errorf("asking the member whether it serves the kind of %s at all: %w", object, err)
	}
	return r.servedSoFar(ctx, object)
}

// servedSoFar is the same by what the member says now, though it may have just started.
func (r *Reconciler) servedSoFar(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	groups, err := r.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return object, false, fmt.Errorf("asking the member in which versions it serves the kind of %s: %w", object, err)
	}
	var failed error
	for _, version := range versionsOf(groups, object.GroupVersionKind) {
		list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: object.Group, Version: version}.String())
		if err != nil { // also of one that has just gone: the one that comes in its place may not be listed so far
			failed = fmt.Errorf("asking the member whether it serves the kind of %s in version %q: %w", object, version, err)
			continue
		}
		if slices.ContainsFunc(list.APIResources, func(of metav1.APIResource) bool {
			return of.Kind == object.Kind && !strings.Contains(of.Name, "/")
		}) {
			object.Version = version
			return object, true, nil
		}
	}
	return object, false, failed
}

// versionsOf returns the versions of the group of a kind: that of the kind first, then the one that the member prefers.
func versionsOf(groups *metav1.APIGroupList, kind schema.GroupVersionKind) []string {
	var out []string
	for i := range groups.Groups {
		group := &groups.Groups[i]
		if group.Name != kind.Group {
			continue
		}
		for _, v := range group.Versions {
			out = append(out, v.Version)
		}
		rank := func(version string) int {
			switch version {
			case kind.Version:
				return 0
			case group.PreferredVersion.Version:
				return 1
			default:
				return 2 //nolint:mnd // The place after those.
			}
		}
		slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return out
}
