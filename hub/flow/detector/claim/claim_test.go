package claim

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestOn(t *testing.T) {
	t.Parallel()
	const (
		id, clusterID = contract.PropagationPolicyPermanentIDLabel, contract.ClusterPropagationPolicyPermanentIDLabel
		ns, name      = contract.PropagationPolicyNamespaceAnnotation, contract.PropagationPolicyNameAnnotation
		clusterName   = contract.ClusterPropagationPolicyNameAnnotation
	)
	cases := map[string]struct {
		labels, annotations map[string]string
		want                Claim
		wantOK              bool
	}{
		"an object without metadata is unclaimed": {},
		"a complete claim of a policy": {
			labels: map[string]string{id: "1"}, annotations: map[string]string{ns: "shop", name: "p"},
			want: Claim{Namespace: "shop", Name: "p", ID: "1"}, wantOK: true,
		},
		"a complete claim of a cluster policy": {
			labels: map[string]string{clusterID: "2"}, annotations: map[string]string{clusterName: "c"},
			want: Claim{Name: "c", ID: "2"}, wantOK: true,
		},
		"the claim of a policy takes precedence over that of a cluster policy": {
			labels:      map[string]string{id: "1", clusterID: "2"},
			annotations: map[string]string{ns: "shop", name: "p", clusterName: "c"},
			want:        Claim{Namespace: "shop", Name: "p", ID: "1"}, wantOK: true,
		},
		"an incomplete claim of a policy does not hide that of a cluster policy": {
			labels:      map[string]string{id: "1", clusterID: "2"},
			annotations: map[string]string{name: "p", clusterName: "c"},
			want:        Claim{Name: "c", ID: "2"}, wantOK: true,
		},
		"a claim without the id is none":        {annotations: map[string]string{ns: "shop", name: "p"}},
		"a claim without the name is none":      {labels: map[string]string{id: "1"}, annotations: map[string]string{ns: "shop"}},
		"a claim without the namespace is none": {labels: map[string]string{id: "1"}, annotations: map[string]string{name: "p"}},
		"empty values are no claim": {
			labels: map[string]string{clusterID: ""}, annotations: map[string]string{clusterName: ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, ok := On(&metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations})
			g.Expect(ok).To(Equal(tc.wantOK))
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func TestSetAndClear(t *testing.T) {
	t.Parallel()
	claims := map[string]Claim{
		"of a policy":         {Namespace: "shop", Name: "p", ID: "1"},
		"of a cluster policy": {Name: "c", ID: "2"},
	}
	for name, c := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			mine := map[string]string{"app": "web"}
			obj := &metav1.ObjectMeta{Labels: mine}
			Set(obj, Claim{Name: "another", ID: "9"})
			Set(obj, Claim{Namespace: "shop", Name: "another", ID: "8"})
			Set(obj, c)

			got, ok := On(obj)
			g.Expect(ok).To(BeTrue())
			g.Expect(got).To(Equal(c))
			g.Expect(obj.Labels).To(HaveLen(2))
			g.Expect(obj.Labels).To(HaveKeyWithValue("app", "web"))
			g.Expect(mine).To(HaveLen(1), "Set must not change the given map")

			g.Expect(Clear(obj)).To(BeTrue())
			_, ok = On(obj)
			g.Expect(ok).To(BeFalse())
			g.Expect(obj.Labels).To(Equal(mine))
			g.Expect(obj.Annotations).To(BeEmpty())
			g.Expect(Clear(obj)).To(BeFalse())
		})
	}
}

func TestClearRemovesIncompleteClaims(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := &metav1.ObjectMeta{Annotations: map[string]string{contract.ClusterPropagationPolicyNameAnnotation: "c"}}
	g.Expect(Clear(obj)).To(BeTrue())
	g.Expect(obj.Annotations).To(BeEmpty())
}

func TestBy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pp := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "p",
		Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "1"},
	}}
	cpp := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{
		Name:   "c",
		Labels: map[string]string{contract.ClusterPropagationPolicyPermanentIDLabel: "2"},
	}}
	g.Expect(By(pp)).To(Equal(Claim{Namespace: "shop", Name: "p", ID: "1"}))
	g.Expect(By(cpp)).To(Equal(Claim{Name: "c", ID: "2"}))
	g.Expect(By(pp).Key()).NotTo(Equal(By(cpp).Key()))
	pp.Labels = nil
	g.Expect(By(pp).ID).To(BeEmpty())
}
