package execution

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// informer watches the managed objects of a kind. One without the right to list its namespace never syncs, which does
// not affect the others.
type informer struct {
	toolscache.SharedIndexInformer

	synced <-chan struct{}
	// lost returns why its content may be outdated, as Watches does.
	lost func() (reason, message string)
	// told says that Filled has reported that it synced.
	told bool
}

// isSynced returns whether it has synced and its watch works.
func (i *informer) isSynced() bool {
	select {
	case <-i.synced:
		reason, _ := i.lost()
		return reason == ""
	default:
		return false
	}
}

// of returns the informer for a namespace; nil if there is none.
func (one *kind) of(namespace string) *informer {
	if everywhere, ok := one.informers[""]; ok {
		return everywhere
	}
	return one.informers[namespace]
}

// reached is the resourceVersion that the watch of a kind has reached.
type reached struct {
	kind            schema.GroupVersionKind
	namespace       string
	resourceVersion string
}

// Get returns an object from the informer of its kind, and whether the informer has synced. The object is shared and
// must not be changed.
func (k *kinds) Get(name plan.Object) (obj *unstructured.Unstructured, synced bool) {
	k.mu.Lock()
	one, ok := k.known[name.GroupVersionKind]
	k.mu.Unlock()
	if !ok {
		return nil, false
	}
	shown := one.of(name.Namespace)
	if shown == nil || !shown.isSynced() {
		return nil, false
	}
	key := name.Name
	if name.Namespace != "" {
		key = name.Namespace + "/" + name.Name
	}
	if item, found, err := shown.GetStore().GetByKey(key); err == nil && found {
		obj, _ = item.(*unstructured.Unstructured)
	}
	return obj, true
}

// Each calls a function for every managed object of the watched kinds in informers that have synced.
func (k *kinds) Each(do func(*unstructured.Unstructured)) {
	k.mu.Lock()
	all := make([]*kind, 0, len(k.known))
	for _, one := range k.known {
		all = append(all, one)
	}
	k.mu.Unlock()
	for _, one := range all {
		for _, shown := range one.informers {
			if !shown.isSynced() {
				continue
			}
			for _, item := range shown.GetStore().List() {
				if obj, ok := item.(*unstructured.Unstructured); ok {
					do(obj)
				}
			}
		}
	}
}

// IsFilling returns whether any informer has yet to sync. Informers whose watch the member refuses do not count.
func (k *kinds) IsFilling() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.known {
		for _, shown := range one.informers {
			if reason, _ := shown.lost(); reason == "" && !shown.isSynced() {
				return true
			}
		}
	}
	return false
}

// Filled returns whether, since the last call, another informer has synced, or a Work stopped using a kind of which
// it may have left objects.
func (k *kinds) Filled() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	filled := k.handedOver
	k.handedOver = false
	for _, one := range k.known {
		for _, shown := range one.informers {
			synced := shown.isSynced()
			filled = filled || synced && !shown.told
			shown.told = synced
		}
	}
	return filled
}

// Of returns the kinds of a Work.
func (k *kinds) Of(work types.NamespacedName) []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.byWork[work]))
}

// Shown returns the kinds of a Work whose informers have all synced.
func (k *kinds) Shown(work types.NamespacedName) []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []schema.GroupVersionKind
	for gvk := range k.byWork[work] {
		one := k.known[gvk]
		if !one.closed && !slices.ContainsFunc(slices.Collect(maps.Values(one.informers)), func(i *informer) bool { return !i.isSynced() }) {
			out = append(out, gvk)
		}
	}
	return out
}

// uses returns whether a kind is watched, in any version, for a Work or for leftovers of ended Works.
func (k *kinds) uses(kind schema.GroupKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk := range k.known {
		if gvk.GroupKind() == kind {
			return true
		}
	}
	return false
}

// Whole returns whether the informers of a Work's kinds have synced for some namespaces.
func (k *kinds) Whole(work types.NamespacedName, namespaces []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk := range k.byWork[work] {
		for _, namespace := range namespaces {
			if shown := k.known[gvk].of(namespace); k.known[gvk].closed || shown != nil && !shown.isSynced() {
				return false
			}
		}
	}
	return true
}

// Furthest returns the kind whose informer has reached the highest resourceVersion of the member, and that version,
// which need not be an object's; empty if none has synced. If the informer is for one namespace, that is returned as
// well. Without informers, it is the highest version reached by one that has ended.
func (k *kinds) Furthest() (furthest schema.GroupVersionKind, namespace, resourceVersion string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out reached
	for gvk := range k.known {
		out = k.furthest(gvk, out)
	}
	if out.resourceVersion == "" {
		out = k.left
	}
	return out.kind, out.namespace, out.resourceVersion
}

// furthest returns how far the watch of a kind has come, or than if that is further.
func (k *kinds) furthest(gvk schema.GroupVersionKind, than reached) reached {
	for where, shown := range k.known[gvk].informers {
		version := shown.LastSyncResourceVersion()
		if reason, _ := shown.lost(); reason != "" || version == "" || than.resourceVersion != "" && !contract.Older(than.resourceVersion, version) {
			continue
		}
		if len(k.confined) > 0 && len(shown.GetStore().ListKeys()) == 0 {
			continue // it contains nothing of ours to miss
		}
		than = reached{gvk, where, version}
	}
	return than
}
