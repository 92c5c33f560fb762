package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/filled"
)

// inGroups are bindings of one namespace of which every tenth is in groups of ten: of each it is to be with the others of one, and away from those of another.
func inGroups(n int) []client.Object {
	size := filled.Fleet{Clusters: 100, Bindings: n, Namespaces: 1}
	out := size.Objects()
	for i, obj := range out {
		b, ok := obj.(*workv1alpha2.ResourceBinding)
		if !ok {
			continue
		}
		number, err := strconv.Atoi(b.Name[len("app-"):][:5])
		if err == nil && number%10 == 0 {
			b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{
				AffinityGroup: fmt.Sprintf("shop=%d", number/100), AntiAffinityGroup: fmt.Sprintf("rack=%d", number/10%(n/100)),
			}
			out[i] = b
		}
	}
	return out
}

// BenchmarkGroups is what the decision on a binding that is in groups costs, and what it costs to have the others of them looked at again, in
// namespaces of ever more bindings.
func BenchmarkGroups(b *testing.B) {
	for _, n := range []int{500, 5000, 50000} {
		objects := inGroups(n)
		r := filledWith(b, objects)
		objects = slices.DeleteFunc(objects, func(obj client.Object) bool {
			one, ok := obj.(*workv1alpha2.ResourceBinding)
			return !ok || one.Spec.WorkloadAffinityGroups == nil
		})
		at := func(i int) *workv1alpha2.ResourceBinding {
			one, ok := objects[i%len(objects)].(*workv1alpha2.ResourceBinding)
			if !ok {
				b.Fatal("no binding")
			}
			return one
		}
		b.Run(fmt.Sprintf("decide/%d", n), func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if _, _, _, err := r.decide(b.Context(), at(i)); err != nil {
					b.Fatal(err)
				}
				i++
			}
			cpu()
		})
		b.Run(fmt.Sprintf("wake/%d", n), func(b *testing.B) {
			i, q := 0, &counted{}
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				r.wakePeers(b.Context(), at(i), q)
				i++
			}
			cpu()
			b.ReportMetric(float64(q.n)/float64(b.N), "bindings/op")
		})
	}
}
