package filled

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"fairlead.dev/common/kube"
)

// Hub is what a hub offers to its stages.
type Hub struct {
	// Client reads from the cache and cannot write.
	Client client.Client
	// Cache is the cache itself.
	Cache cache.Cache
	// Mapper knows the kinds of the scheme.
	Mapper meta.RESTMapper
}

// New returns a hub whose cache has these objects. It waits until their kinds are synced; the cache stops at the end of
// the test.
func New(tb testing.TB, o cache.Options, objects ...client.Object) *Hub {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	scheme, err := kube.NewScheme()
	must(err)
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace) // cluster-scoped objects are found as well
	}
	watched := map[schema.GroupVersionKind]client.Object{}
	for _, obj := range objects {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		must(err)
		if !scheme.Recognizes(gvk) && watched[gvk] == nil {
			mapper.Add(gvk, meta.RESTScopeNamespace)
		}
		watched[gvk] = obj
	}
	cfg, from := serve(tb, scheme, mapper, objects)
	o.Scheme, o.Mapper = scheme, mapper
	kept, err := cache.New(cfg, o)
	must(err)
	must(kube.Index(tb.Context(), kept))
	go func() { _ = kept.Start(tb.Context()) }()
	for _, obj := range watched {
		_, err := kept.GetInformer(tb.Context(), obj, cache.BlockUntilSynced(false))
		must(err)
	}
	if !kept.WaitForCacheSync(tb.Context()) {
		tb.Fatal("the cache has no first list")
	}
	from.forget()
	c, err := kube.NewClient(cfg, client.Options{Scheme: scheme, Mapper: mapper, Cache: &client.CacheOptions{Reader: kept}})
	must(err)
	return &Hub{Client: c, Cache: kept, Mapper: mapper}
}
