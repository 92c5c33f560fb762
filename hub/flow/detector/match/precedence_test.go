package match

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	wide := func(name string, preemption policyv1alpha1.PreemptionBehavior) *policyv1alpha1.ClusterPropagationPolicy {
		p := &policyv1alpha1.ClusterPropagationPolicy{Spec: policy(name, ptr.To[int32](9), byName()).Spec}
		p.Name, p.Spec.Preemption = name, preemption
		return p
	}
	going := func(p *policyv1alpha1.PropagationPolicy) *policyv1alpha1.PropagationPolicy {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return p
	}
	elsewhere := policy("elsewhere", nil, byName())
	elsewhere.Namespace = "other"
	service := byName()
	service.Kind = "Service"
	rival := policy("rival", ptr.To[int32](1), byName())
	rival.Spec.Preemption = policyv1alpha1.PreemptAlways

	cases := map[string]struct {
		holder         policyv1alpha1.Policy
		candidates     []policyv1alpha1.Policy
		winner, victim string
	}{
		"nobody": {},
		"a policy of the namespace takes precedence over cluster policies": {
			candidates: []policyv1alpha1.Policy{wide("wide", ""), policy("near", nil, byKind()), elsewhere}, winner: "near",
		},
		"without one the best cluster policy wins": {
			candidates: []policyv1alpha1.Policy{wide("wide", ""), elsewhere}, winner: "wide",
		},
		"the holder keeps the template, whatever else selects it": {
			holder: wide("old", ""), candidates: []policyv1alpha1.Policy{wide("old", ""), policy("near", nil, byName())}, winner: "old",
		},
		"the holder loses the template to a policy that preempts": {
			holder: policy("old", nil, byName()), candidates: []policyv1alpha1.Policy{rival}, winner: "rival", victim: "old",
		},
		"a holder that is being deleted loses the template, and is not a victim": {
			holder: going(policy("old", nil, byName())), candidates: []policyv1alpha1.Policy{rival}, winner: "rival",
		},
		"a holder that does not select the template any more loses it": {
			holder: policy("old", nil, service), candidates: []policyv1alpha1.Policy{wide("wide", "")}, winner: "wide",
		},
		"a holder of another namespace": {
			holder: elsewhere,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			winner, victim := Policy(tc.holder, tc.candidates, deployment())
			for _, got := range []struct {
				policy policyv1alpha1.Policy
				want   string
			}{{winner, tc.winner}, {victim, tc.victim}} {
				if got.want == "" {
					g.Expect(got.policy).To(BeNil())
				} else {
					g.Expect(got.policy.GetName()).To(Equal(got.want))
				}
			}
		})
	}
}
