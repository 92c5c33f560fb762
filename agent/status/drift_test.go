package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func drifted(name string, second int64, fields ...string) workv1alpha1.Drift {
	return workv1alpha1.Drift{
		Identifier: id(0, name), Fields: fields, ChangedBy: []string{"kubectl-edit"}, Time: metav1.Unix(second, 0), Times: 1,
	}
}

func TestTheLatestDriftIsRememberedAndRepetitionsAreCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	known := remember(nil, []workv1alpha1.Drift{drifted("a", 1, ".data.x"), drifted("b", 2, ".data.x")})
	g.Expect(known).To(Equal([]workv1alpha1.Drift{drifted("b", 2, ".data.x"), drifted("a", 1, ".data.x")}))

	again := drifted("a", 3, ".data.x")
	known = remember(known, []workv1alpha1.Drift{again, again})
	again.Times = 3
	g.Expect(known).To(Equal([]workv1alpha1.Drift{again, drifted("b", 2, ".data.x")}))
	g.Expect(remember(known, []workv1alpha1.Drift{drifted("a", 4, ".data.y")})).To(HaveLen(3), "another field is another drift")

	for i := range int64(20) {
		known = remember(known, []workv1alpha1.Drift{drifted("c", i, ".data.x"+string(rune('a'+i)))})
	}
	g.Expect(known).To(HaveLen(workv1alpha1.MaxDrift))
	g.Expect(known[0].Time).To(Equal(metav1.Unix(19, 0)))
}

func TestDriftReachesTheHubOnceAndOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := work()
	before.Status.Drift = []workv1alpha1.Drift{drifted("old", 1, ".data.x")}
	r, hub := newReporter(t, interceptor.Funcs{}, before)
	read := func() []workv1alpha1.Drift {
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		return got.Status.Drift
	}
	r.Drifted(self, drifted("a", 2, ".data.x")) // before the Work itself was reported
	r.Report(work(), applied(), nil, nil, nil)
	for range 2 {
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		g.Expect(read()).To(HaveLen(2))
		g.Expect(read()[0].Identifier.Name).To(Equal("a"))
		g.Expect(read()[0].Times).To(Equal(int32(1)))
	}
	r.Drifted(self, drifted("a", 5, ".data.x"))
	g.Expect(r.write(t.Context(), self)).To(Succeed())
	g.Expect(read()).To(HaveLen(2))
	g.Expect(read()[0].Times).To(Equal(int32(2)))
	g.Expect(read()[0].Time.Time).To(BeTemporally("==", time.Unix(5, 0)))
}
