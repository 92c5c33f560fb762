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

// Discovery discovers, uncached, which kinds the member serves. It also lists groups whose servers do not answer, and
// fails for their contents.
type Discovery interface {
	// ServerGroupsWithContext returns all groups and their versions.
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
	// ServerResourcesForGroupVersionWithContext returns the resources of a group version.
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	// Ready fails while the member says that it is not ready: while its API server starts, discovery succeeds but
	// omits what was not loaded yet, such as everything that CustomResourceDefinitions define. A member that does not
	// let the agent ask counts as ready.
	Ready(ctx context.Context) error
}

// unserved returns whether an error says that the member does not serve a kind in the requested version. That says
// nothing about its objects: they may be served in another version, for instance after the operator that defines the
// kind was upgraded.
func unserved(err error) bool {
	return err != nil && (meta.IsNoMatchError(err) || kube.IsNoSuchResource(err))
}

// mapping returns the resource of a kind in the member. For a kind that the member was found not to serve, it asks
// only now and then. The mapper never forgets a kind; that one was removed is learned from its watch, or another
// request, that is refused. Then its watch ends.
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

// serves returns whether the member serves the kind of an object in its version, and ends the watch of a kind that it
// does not serve. A member that is not ready may omit kinds, so nothing follows from that.
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

// noteUnserved records an error that says that the member does not serve a kind, so that this is checked before any
// further request about the kind.
func (r *Reconciler) noteUnserved(work types.NamespacedName, object plan.Object, err error) {
	if unserved(err) {
		r.prerequisites.Unserved(need{kind: object.GroupVersionKind}, work, r.clock.Now())
	}
}

// known returns the object in a version in which the member is known to serve its kind, without asking if possible;
// false if it serves the kind in no version.
func (r *Reconciler) known(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	switch _, err := r.memberClient.RESTMapper().RESTMapping(object.GroupKind(), object.Version); {
	case err == nil && !r.kinds.isGone(object):
		return object, true, nil
	case err == nil, unserved(err): // the mapper never forgets a kind
		return r.served(ctx, object)
	default:
		return object, false, fmt.Errorf("looking up the kind of %s in the member: %w", object, err)
	}
}

// served returns the object in a version in which the member now serves its kind: its own, or else the preferred one.
// It returns false if the kind is served in no version: then it has no objects. An error says that the member did not
// answer for some version, or is not ready.
func (r *Reconciler) served(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	found, ok, err := r.servedSoFar(ctx, object)
	if ok || err != nil {
		return found, ok, err
	}
	// A negative answer counts only from a member that was ready before it was asked.
	if err := r.discovery.Ready(ctx); err != nil {
		return object, false, fmt.Errorf("asking the member whether it serves the kind of %s at all: %w", object, err)
	}
	return r.servedSoFar(ctx, object)
}

// servedSoFar does the same without checking that the member is ready. It fails with a KindChangedError for a kind
// that is served elsewhere than the clients' mapping says.
func (r *Reconciler) servedSoFar(ctx context.Context, object plan.Object) (plan.Object, bool, error) {
	groups, err := r.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return object, false, fmt.Errorf("asking the member in which versions it serves the kind of %s: %w", object, err)
	}
	var failed error
	for _, version := range versionsOf(groups, object.GroupVersionKind) {
		list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: object.Group, Version: version}.String())
		if err != nil { // even if it was just removed, since its replacement may not be listed yet
			failed = fmt.Errorf("asking the member whether it serves the kind of %s in version %q: %w", object, version, err)
			continue
		}
		listed := slices.DeleteFunc(slices.Clone(list.APIResources), func(of metav1.APIResource) bool { //nolint:gocritic // it is what slices asks for
			return of.Kind != object.Kind || strings.Contains(of.Name, "/")
		})
		if len(listed) > 0 {
			object.Version = version
			err := r.remapped(object, listed)
			return object, err == nil, err
		}
	}
	return object, false, failed
}

// versionsOf returns the versions of a kind's group: the kind's own first, then the preferred one.
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
