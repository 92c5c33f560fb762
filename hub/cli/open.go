package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/view"
)

// opened is a connection to the hub for reading.
type opened struct {
	*view.Reader
	client client.Client
	mapper meta.RESTMapper
	// members gives access to the clusters.
	members *pods.Members
	// namespace is that of the context; empty if it has none.
	namespace string
}

// open connects to the hub for reading.
func (f hubFlags) open(env Environment) (*opened, error) {
	k, err := f.find(env)
	if err != nil {
		return nil, err
	}
	k.warn(env)
	cfg, err := k.config()
	if err != nil {
		return nil, err
	}
	cfg = kube.BoundDepth(cfg)
	namespace, err := k.namespace()
	if err != nil {
		return nil, err
	}
	hubClient, err := clientOf(cfg)
	if err != nil {
		return nil, err
	}
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", cfg.Host, err)
	}
	cached := memory.NewMemCacheClient(dc)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, func(string) {})
	reader, err := view.New(hubClient, mapper, watchset.ServedThrough(discovery.ToServerResourcesInterfaceWithContext(cached), env.Clock), env.Clock)
	if err != nil {
		return nil, err
	}
	members, err := pods.NewMembers(cfg)
	if err != nil {
		return nil, err
	}
	return &opened{Reader: reader, client: hubClient, mapper: mapper, members: members, namespace: namespace}, nil
}

// ref returns the object that a person names.
func (o *opened) ref(kind, namespace, name string) (view.Ref, error) {
	mapping, err := o.mapping(kind)
	if err != nil {
		return view.Ref{}, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	}
	return view.Ref{GroupVersionKind: mapping.GroupVersionKind, Namespace: namespace, Name: name}, nil
}

// mapping returns the kind that a person names.
func (o *opened) mapping(kind string) (*meta.RESTMapping, error) {
	full, group := schema.ParseResourceArg(strings.ToLower(kind))
	var gvk schema.GroupVersionKind
	var err error
	if full != nil {
		gvk, err = o.mapper.KindFor(*full)
	}
	if gvk.Empty() {
		gvk, err = o.mapper.KindFor(group.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the hub knows no kind %q; see `kubectl api-resources`: %w", kind, err)
	}
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", kind, err)
	}
	mapping, err := o.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", kind, err)
	}
	return mapping, nil
}
