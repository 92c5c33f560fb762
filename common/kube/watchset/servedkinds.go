package watchset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/kube"
)

// How long the API's answers about served kinds, and about the preferred version of a kind, are cached.
const (
	servedFor    = time.Second
	preferredFor = 10 * time.Second
)

// ServedKinds knows the kinds that an API serves. It lists them all at once, and at most once a second even if many
// unknown kinds are asked for; controller-runtime's mapper would ask again for each, and rebuild all of its mappings
// under its lock. It is safe for concurrent use.
type ServedKinds struct {
	list  func(context.Context) ([]*metav1.APIResourceList, error)
	clock clock.PassiveClock

	// mu guards the fields below, and is held while the API is asked.
	mu    sync.Mutex
	asked time.Time
	// err is the error of the last request for the kinds.
	err   error
	kinds map[schema.GroupVersionKind]struct{}
	// versions has the served versions of each kind.
	versions map[schema.GroupKind][]string
	// spelt maps the lower-case name of each kind to its correct spelling.
	spelt map[schema.GroupVersionKind]string
	// silent are the groups whose kinds the API did not list, because the aggregated server behind them does not answer.
	silent map[schema.GroupVersion]error
}

// ServedBy returns the kinds served by the API of a manager.
func ServedBy(mgr manager.Manager, c clock.PassiveClock) (*ServedKinds, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client that asks which kinds are served: %w", err)
	}
	return ServedThrough(d, c), nil
}

// ServedThrough returns the kinds served by the API of a discovery client.
func ServedThrough(d discovery.ServerResourcesInterfaceWithContext, c clock.PassiveClock) *ServedKinds {
	return NewServedKinds(func(ctx context.Context) ([]*metav1.APIResourceList, error) {
		_, lists, err := d.ServerGroupsAndResourcesWithContext(ctx)
		return lists, err
	}, c)
}

// NewServedKinds returns the kinds that a discovery function lists.
func NewServedKinds(list func(context.Context) ([]*metav1.APIResourceList, error), c clock.PassiveClock) *ServedKinds {
	return &ServedKinds{list: list, clock: c}
}

// Check returns nil for a kind that the API served at the last answer. The error matches IsUnserved if it did not; any other error means
// that the API did not answer.
func (s *ServedKinds) Check(ctx context.Context, kind schema.GroupVersionKind) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() || s.clock.Since(s.asked) >= servedFor {
		s.ask(ctx)
	}
	if _, ok := s.kinds[kind]; ok {
		return nil
	}
	if err := errors.Join(s.err, s.silent[kind.GroupVersion()]); err != nil {
		return fmt.Errorf("asking whether kind %q is served: %w", kind, err)
	}
	if spelt, ok := s.spelt[lower(kind)]; ok {
		return &kube.MisspeltKindError{Kind: kind, Served: spelt}
	}
	return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
}

// Versions returns the versions in which the API served a kind at the last answer, in no order; none for an unknown kind. An error means
// that the API did not answer.
func (s *ServedKinds) Versions(ctx context.Context, of schema.GroupKind) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.IsZero() || s.clock.Since(s.asked) >= servedFor {
		s.ask(ctx)
	}
	if s.err != nil {
		return nil, fmt.Errorf("asking in which versions kind %q is served: %w", of, s.err)
	}
	return slices.Clone(s.versions[of]), nil
}

// Preferred returns the apiVersion for an owner reference to a kind, such that the garbage collector finds the owner: the served version
// that is first in Kubernetes' order of versions, in which the newest stable one leads. It asks the API at most once in ten seconds for a
// known kind, and once a second for a new one. If the API does not answer, the present apiVersion of the reference stays, or else the
// kind's own is used.
func (s *ServedKinds) Preferred(ctx context.Context, kind schema.GroupVersionKind, present string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.kinds[kind]
	if age := s.clock.Since(s.asked); s.asked.IsZero() || age >= preferredFor || (!known || present == "") && age >= servedFor {
		s.ask(ctx)
	}
	served := s.versions[kind.GroupKind()]
	if was, err := schema.ParseGroupVersion(present); err == nil && was.Group == kind.Group && (len(served) == 0 || s.isSilent(kind.Group)) {
		return present
	}
	if len(served) > 0 {
		kind.Version = slices.MaxFunc(served, version.CompareKubeAwareVersionStrings)
	}
	return kind.GroupVersion().String()
}

// isSilent returns whether the API failed to list some version of a group.
func (s *ServedKinds) isSilent(group string) bool {
	for gv := range s.silent {
		if gv.Group == group {
			return true
		}
	}
	return false
}

// ask asks the API which kinds it serves.
func (s *ServedKinds) ask(ctx context.Context) {
	lists, err := s.list(ctx)
	silent, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	s.asked, s.silent, s.err = s.clock.Now(), silent, nil
	if err != nil && !some {
		s.err = err
		if ctx.Err() != nil {
			s.asked = time.Time{} // the caller went away, which means nothing for others
		}
		return
	}
	s.kinds, s.spelt = map[schema.GroupVersionKind]struct{}{}, map[schema.GroupVersionKind]string{}
	s.versions = map[schema.GroupKind][]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // no kind can be in it
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if strings.Contains(resource.Name, "/") {
				continue // a subresource, whose kind may be served nowhere else
			}
			kind := gv.WithKind(resource.Kind)
			if _, known := s.kinds[kind]; !known { // it may be served as several resources
				s.versions[kind.GroupKind()] = append(s.versions[kind.GroupKind()], kind.Version)
			}
			s.kinds[kind] = struct{}{}
			s.spelt[lower(kind)] = kind.Kind
		}
	}
}

func lower(kind schema.GroupVersionKind) schema.GroupVersionKind {
	return kind.GroupVersion().WithKind(strings.ToLower(kind.Kind))
}
