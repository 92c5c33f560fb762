package setup

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/filled"
)

// BenchmarkCacheMemory measures the memory of the hub's idle cache: for each object of a kind, alone, and of a whole fleet.
// `go test -bench CacheMemory -benchtime 1x -memprofile p -memprofilerate 4096` shows the details.
func BenchmarkCacheMemory(b *testing.B) {
	for _, size := range []filled.Fleet{{Clusters: 5000, Bindings: 50000}} {
		byKind := map[string][]client.Object{}
		all := size.Objects()
		for _, obj := range all {
			kind := reflect.TypeOf(obj).Elem().Name()
			byKind[kind] = append(byKind[kind], obj)
		}
		for _, kind := range []string{"Cluster", "Lease", "PartialObjectMetadata", "ResourceBinding", "Work"} {
			b.Run(fmt.Sprintf("%s/%d", kind, len(byKind[kind])), func(b *testing.B) { hold(b, byKind[kind]) })
		}
		b.Run(fmt.Sprintf("all/%d/%d", size.Clusters, size.Bindings), func(b *testing.B) { hold(b, all) })
	}
}

// hold reports the memory of a cache of objects.
func hold(b *testing.B, objects []client.Object) {
	b.Helper()
	var held uint64
	for b.Loop() {
		before := inUse()
		hub := filled.New(b, CacheOptions(nil), objects...)
		held = inUse() - before
		runtime.KeepAlive(hub)
	}
	b.ReportMetric(float64(held)/1e6, "MB")
	b.ReportMetric(float64(held)/float64(len(objects)), "B/object")
}

// inUse returns the live heap size.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
