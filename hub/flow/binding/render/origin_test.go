package render_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/test/builder"
)

// story is all that a Work comes from.
type story struct {
	origin  render.Origin
	cluster *clusterv1alpha1.Cluster
	work    *workv1alpha1.Work
}

func (s story) digest(t *testing.T) string {
	t.Helper()
	d, err := s.origin.Digest()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return d.Of(s.work, s.cluster)
}

func TestAnOriginIsAnotherIfAnythingOfItIs(t *testing.T) {
	t.Parallel()
	of := func(change func(*story, *workv1alpha2.ResourceBinding)) string {
		b := binding(func(*workv1alpha2.ResourceBinding) {})
		s := story{
			origin:  render.Origin{Program: "p", Template: "t", Rules: "r", Binding: b, Overrides: []string{"o 1"}},
			cluster: builder.MakeCluster("edge-1").Region("north").Obj(),
			work: &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
				Namespace: "karmada-es-edge-1", Name: "foo", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{contract.ManifestHashAnnotation: "h"},
			}},
		}
		change(&s, b)
		return s.digest(t)
	}
	same := of(func(*story, *workv1alpha2.ResourceBinding) {})
	for name, change := range map[string]func(*story, *workv1alpha2.ResourceBinding){
		"the program":               func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Program = "q" },
		"the template":              func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Template = "u" },
		"the rules":                 func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Rules = "s" },
		"an override policy":        func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Overrides = []string{"o 2"} },
		"no override policy":        func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Overrides = nil },
		"a label of the cluster":    func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Labels = map[string]string{"a": "b"} },
		"its region":                func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Region = "south" },
		"its provider":              func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Provider = "us" },
		"its zones":                 func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Zones = []string{"z"} },
		"a label of the Work":       func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Labels["l"] = "2" },
		"an annotation of the Work": func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Annotations["more"] = "2" },
		"the hash of the manifest": func(s *story, _ *workv1alpha2.ResourceBinding) {
			s.work.Annotations[contract.ManifestHashAnnotation] = "i"
		},
		"the name of the Work": func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Name = "bar" },
		"the id of the binding": func(_ *story, b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.ResourceBindingPermanentIDLabel] = "b-2"
		},
		"the share of the cluster": func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[0].Replicas++ },
		"the share of another":     func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[1].Replicas++ },
		"all replicas":             func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Replicas++ },
		"who wins a conflict": func(_ *story, b *workv1alpha2.ResourceBinding) {
			b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
		},
		"where it stays after a deletion": func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{"edge-9"} },
		"what stays after a deletion":     func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) },
	} {
		NewWithT(t).Expect(of(change)).NotTo(Equal(same), name)
	}
	NewWithT(t).Expect(of(func(s *story, _ *workv1alpha2.ResourceBinding) {
		s.work.Annotations[contract.RenderedFromAnnotation] = same
	})).To(Equal(same), "what it says itself does not count")
	plain := func(change func(*story)) string {
		return of(func(s *story, _ *workv1alpha2.ResourceBinding) {
			s.origin.Overrides = nil
			change(s)
		})
	}
	NewWithT(t).Expect(plain(func(s *story) { s.cluster.Spec.Region = "south" })).To(Equal(plain(func(*story) {})), "clusters are alike where nothing is overridden")
}
