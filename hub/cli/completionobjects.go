package cli

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// mostObjects bounds the objects of a kind that are suggested.
const mostObjects = 500

// oneApplicationOf suggests one of the applications that read returns, as KIND/NAME, or as NAME after KIND.
func oneApplicationOf(read func(ctx context.Context, o *opened) ([]applications.Template, error)) suggester {
	return func(ctx context.Context, o *opened, t typed) ([]string, error) {
		var kind schema.GroupKind
		switch {
		case len(t.args) > 1, len(t.args) == 1 && strings.Contains(t.args[0], "/"):
			return nil, nil
		case len(t.args) == 1:
			mapping, err := o.mapping(t.args[0])
			if err != nil {
				return nil, err
			}
			kind = mapping.GroupVersionKind.GroupKind()
		}
		all, err := read(ctx, o)
		var out []string
		for _, a := range all {
			switch {
			case kind.Empty():
				out = append(out, rollouts.Named(a))
			case schema.FromAPIVersionAndKind(a.APIVersion, a.Kind).GroupKind() == kind:
				out = append(out, a.Name)
			}
		}
		return out, err
	}
}

// applicationNames suggests one application.
func applicationNames(namespace *namespaceFlags) suggester {
	return oneApplicationOf(func(ctx context.Context, o *opened) ([]applications.Template, error) {
		apps, err := o.Applications(ctx, namespace.scope(o))
		var out []applications.Template
		for i := range apps {
			out = append(out, apps[i].Template)
		}
		return out, err
	})
}

// rolloutNames suggests one application with a staged rollout.
func rolloutNames(namespace *namespaceFlags) suggester {
	return oneApplicationOf(func(ctx context.Context, o *opened) ([]applications.Template, error) {
		all, err := o.AllStaged(ctx, namespace.scope(o))
		var out []applications.Template
		for i := range all {
			out = append(out, all[i].Template)
		}
		return out, err
	})
}

// thenClusters suggests clusters after the first argument.
func thenClusters(first suggester) suggester {
	return func(ctx context.Context, o *opened, t typed) ([]string, error) {
		if len(t.args) == 0 {
			return first(ctx, o, t)
		}
		return clusterNames(ctx, o, t)
	}
}

// orCluster adds clusters, as cluster/NAME, to other suggestions.
func orCluster(also suggester) suggester {
	return func(ctx context.Context, o *opened, t typed) ([]string, error) {
		prefix := "cluster/"
		switch {
		case len(t.args) == 1 && isCluster(t.args[0]):
			prefix = ""
		case len(t.args) > 0:
			return also(ctx, o, t)
		}
		names, err := o.ClusterNames(ctx)
		if err != nil || prefix == "" {
			return names, err
		}
		out, err := also(ctx, o, t)
		for _, name := range names {
			out = append(out, prefix+name)
		}
		return out, err
	}
}

// isCluster says whether a kind means clusters.
func isCluster(kind string) bool {
	return slices.Contains([]string{"cluster", "clusters"}, strings.ToLower(kind))
}

// objectNames suggests one object, whether or not a policy matches it: applications until a kind is typed, and then all
// objects of that kind.
func objectNames(namespace *namespaceFlags) suggester {
	apps := applicationNames(namespace)
	return func(ctx context.Context, o *opened, t typed) ([]string, error) {
		kind, _, slash := strings.Cut(t.word, "/")
		before := kind + "/"
		switch {
		case len(t.args) == 1 && !strings.Contains(t.args[0], "/"):
			kind, before = t.args[0], ""
		case len(t.args) > 0 || !slash:
			return apps(ctx, o, t)
		}
		mapping, err := o.mapping(kind)
		if err != nil {
			return nil, err
		}
		opts := []client.ListOption{client.Limit(mostObjects)}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			opts = append(opts, client.InNamespace(namespace.scope(o).Namespace))
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(mapping.GroupVersionKind)
		if err := o.client.List(ctx, list, opts...); err != nil {
			return nil, err
		}
		var out []string
		for i := range list.Items {
			out = append(out, before+list.Items[i].Name)
		}
		return out, nil
	}
}
