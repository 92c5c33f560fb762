package match

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

func TestPreemptor(t *testing.T) {
	t.Parallel()
	always := func(p *policyv1alpha1.PropagationPolicy) *policyv1alpha1.PropagationPolicy {
		p.Spec.Preemption = policyv1alpha1.PreemptAlways
		return p
	}
	wide := func(name string, priority int32, preemption policyv1alpha1.PreemptionBehavior) *policyv1alpha1.ClusterPropagationPolicy {
		p := &policyv1alpha1.ClusterPropagationPolicy{Spec: policy(name, &priority, byName()).Spec}
		p.Name, p.Spec.Preemption = name, preemption
		return p
	}
	service := byName()
	service.Kind = "Service"

	cases := map[string]struct {
		holder   policyv1alpha1.Policy
		policies []policyv1alpha1.Policy
		want     string
	}{
		"a higher priority takes the template": {
			holder: policy("old", nil, byName()), policies: []policyv1alpha1.Policy{always(policy("new", ptr.To[int32](1), byName()))}, want: "new",
		},
		"not without preemption": {
			holder: policy("old", nil, byName()), policies: []policyv1alpha1.Policy{policy("new", ptr.To[int32](1), byName())},
		},
		"an equal priority does not take it": {
			holder: policy("old", ptr.To[int32](1), byKind()), policies: []policyv1alpha1.Policy{always(policy("a", ptr.To[int32](1), byName()))},
		},
		"a missing priority counts as zero": {
			holder: policy("old", ptr.To[int32](-1), byName()), policies: []policyv1alpha1.Policy{always(policy("new", nil, byName()))}, want: "new",
		},
		"a policy does not take what it does not select": {
			holder: policy("old", nil, byName()), policies: []policyv1alpha1.Policy{always(policy("new", ptr.To[int32](1), service))},
		},
		"a policy takes the template from a cluster policy, whatever the priorities": {
			holder: wide("old", 9, ""), policies: []policyv1alpha1.Policy{always(policy("new", ptr.To[int32](-9), byName()))}, want: "new",
		},
		"a cluster policy never takes a template from a policy": {
			holder: policy("old", nil, byName()), policies: []policyv1alpha1.Policy{wide("new", 9, policyv1alpha1.PreemptAlways)},
		},
		"among cluster policies the priority counts": {
			holder: wide("old", 1, ""), policies: []policyv1alpha1.Policy{wide("low", 1, policyv1alpha1.PreemptAlways), wide("new", 2, policyv1alpha1.PreemptAlways)}, want: "new",
		},
		"the best of several takes it": {
			holder: policy("old", nil, byName()), policies: []policyv1alpha1.Policy{
				always(policy("a", ptr.To[int32](1), byName())), always(policy("b", ptr.To[int32](2), byName())), policy("c", ptr.To[int32](3), byName()),
			}, want: "b",
		},
		"a policy takes precedence over a cluster policy": {
			holder: wide("old", 1, ""), policies: []policyv1alpha1.Policy{
				wide("wide", 9, policyv1alpha1.PreemptAlways), always(policy("near", nil, byName())),
			}, want: "near",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for range 2 {
				got := Preemptor(tc.holder, append([]policyv1alpha1.Policy{tc.holder}, tc.policies...), deployment())
				if tc.want == "" {
					g.Expect(got).To(BeNil())
				} else {
					g.Expect(got).NotTo(BeNil())
					g.Expect(got.GetName()).To(Equal(tc.want))
					g.Expect(Preemptor(got, tc.policies, deployment())).To(BeNil(), "the result is stable")
				}
				slices.Reverse(tc.policies)
			}
		})
	}
}
