package setup

import (
	"reflect"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/filled"
)

// TestMemoryOfCachedObjects holds how much memory an object takes, with its part of the indexes: a hub has some of each for each
// application. It runs beside nothing else.
func TestMemoryOfCachedObjects(t *testing.T) {
	byKind := map[string][]client.Object{}
	for _, obj := range (filled.Fleet{Clusters: 100, Bindings: 2000}).Objects() {
		kind := reflect.TypeOf(obj).Elem().Name()
		byKind[kind] = append(byKind[kind], obj)
	}
	held := func(objects ...client.Object) int64 {
		before := inUse()
		hub := filled.New(t, CacheOptions(nil), objects...)
		held := int64(inUse()) - int64(before)
		runtime.KeepAlive(hub)
		return held
	}
	// What a process has once, such as what it knows of types, is there by then, and what a cache takes that has nothing is not counted.
	held(byKind["Cluster"]...)
	empty := held()
	for kind, most := range map[string]int64{"PartialObjectMetadata": 940, "ResourceBinding": 2660, "Work": 2140} {
		t.Run(kind, func(t *testing.T) {
			each := (held(byKind[kind]...) - empty) / int64(len(byKind[kind]))
			t.Logf("%d bytes", each)
			NewWithT(t).Expect(each).To(BeNumerically("<", most))
		})
	}
}
