package setup

import (
	"reflect"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/filled"
)

// TestWhatTheCacheTakesForAnObject holds how much memory an object takes, with its part of the indexes: a hub has some of each for each
// application. It runs beside nothing else.
func TestWhatTheCacheTakesForAnObject(t *testing.T) {
	byKind := map[string][]client.Object{}
	for _, obj := range (filled.Fleet{Clusters: 100, Bindings: 2000}).Objects() {
		kind := reflect.TypeOf(obj).Elem().Name()
		byKind[kind] = append(byKind[kind], obj)
	}
	// What a process has once, such as what it knows of types, is there by then.
	runtime.KeepAlive(filled.New(t, CacheOptions(nil), byKind["Cluster"]...))
	for kind, most := range map[string]uint64{"PartialObjectMetadata": 1250, "ResourceBinding": 2950, "Work": 2400} {
		t.Run(kind, func(t *testing.T) {
			before := inUse()
			hub := filled.New(t, CacheOptions(nil), byKind[kind]...)
			held := inUse() - before
			runtime.KeepAlive(hub)
			each := held / uint64(len(byKind[kind]))
			t.Logf("%d bytes", each)
			NewWithT(t).Expect(each).To(BeNumerically("<", most))
		})
	}
}
