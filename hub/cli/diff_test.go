package cli

import (
	"crypto/rand"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/people/view"
)

func TestDiffShowsNoSecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := func(value string) *workv1alpha1.Work {
		w := &workv1alpha1.Work{}
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
			`{"kind":"Secret","metadata":{"name":"s"},"data":{"same":"c2FtZQ==","differs":"` + value + `"}}`,
		)}}}
		return w
	}
	const one, other = "aHVzaA==", "SFVTSA=="
	var out output
	f := &diffFlags{}
	env := Environment{Out: &out, Random: rand.Reader}
	g.Expect(f.hide(env)).To(Succeed())
	same, err := f.sent(env, &view.Rendered{Cluster: "edge-1", Sent: work(one), Desired: work(other)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeFalse(), "that they differ is seen, be they as long")
	g.Expect(f.compare(env, view.Ref{}, &view.Rendered{Sent: work(one)}, &view.Rendered{Sent: work(other)})).To(MatchError(ContainSubstring("differs between")))
	g.Expect(out.String()).To(MatchRegexp(`(?s)-    differs: \(hidden, [0-9a-f]+\)\n\+    differs: \(hidden, [0-9a-f]+\)\n     same: \(hidden`))
	g.Expect(out.String()).NotTo(MatchRegexp(one + "|" + other + "|c2FtZQ"))
}
