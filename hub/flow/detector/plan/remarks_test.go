package plan

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
)

func TestRemarksNameFieldsWithoutEffect(t *testing.T) {
	t.Parallel()
	labels := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	scheduling := func(s policyv1alpha1.ReplicaSchedulingStrategy) policyv1alpha1.PropagationSpec {
		return policyv1alpha1.PropagationSpec{Placement: policyv1alpha1.Placement{ReplicaScheduling: &s}}
	}
	weights := &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	for name, c := range map[string]struct {
		given policyv1alpha1.PropagationSpec
		want  string // empty for no remark
	}{
		"nothing":                          {},
		"a name":                           {given: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{Kind: "Deployment", Name: "web"}}}},
		"labels":                           {given: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{Kind: "Deployment", LabelSelector: labels}}}},
		"a name and labels":                {policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{Kind: "Deployment", Name: "web", LabelSelector: labels}}}, "spec.resourceSelectors[0].labelSelector has no effect beside name: Deployment \"web\""},
		"weights":                          {given: scheduling(policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, WeightPreference: weights})},
		"copies":                           {given: scheduling(policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Duplicated})},
		"weights with duplicated replicas": {scheduling(policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Duplicated, WeightPreference: weights}), "weightPreference has no effect with replicaSchedulingType Duplicated"},
		"weights with aggregated replicas": {scheduling(policyv1alpha1.ReplicaSchedulingStrategy{ReplicaDivisionPreference: policyv1alpha1.Aggregated, WeightPreference: weights}), "weightPreference has no effect with replicaDivisionPreference Aggregated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(PolicyRemarks(&c.given)).To(onlySaying(c.want))
		})
	}
}

func onlySaying(want string) OmegaMatcher {
	if want == "" {
		return BeEmpty()
	}
	return ConsistOf(ContainSubstring(want))
}

func TestRemarksNameFieldsWithoutEffectOnATemplate(t *testing.T) {
	t.Parallel()
	type spec = policyv1alpha1.PropagationSpec
	type demand = workv1alpha2.ResourceBindingSpec
	divides := func(p *spec, preference policyv1alpha1.ReplicaDivisionPreference) {
		p.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: preference}
	}
	parts := demand{Components: []workv1alpha2.Component{{Name: "jobmanager"}, {Name: "taskmanager"}}}
	picky := demand{ReplicaRequirements: &workv1alpha2.ReplicaRequirements{NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{"disk": "gold"}}}}
	for name, c := range map[string]struct {
		policy   func(*spec)
		demand   demand
		priority *int32
		judged   bool
		want     string // empty for no remark
	}{
		"nothing":                  {},
		"the scheduler of the hub": {policy: func(p *spec) { p.SchedulerName = "default-scheduler" }},
		"another scheduler":        {policy: func(p *spec) { p.SchedulerName = "mine" }, want: `spec.schedulerName of PropagationPolicy "shop/p" is "mine", which is not the scheduler of this hub: Deployment "web" waits until that scheduler writes spec.clusters of binding "web-deployment".`},
		"failover of a kind with health": {policy: func(p *spec) {
			p.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{}}
		}, judged: true},
		"failover of a kind without health": {policy: func(p *spec) {
			p.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{}}
		}, want: `spec.failover.application of PropagationPolicy "shop/p" has no effect on Deployment "web": no rule says when a Deployment is unhealthy`},
		"components that are duplicated":     {demand: parts},
		"components with divided scheduling": {policy: func(p *spec) { divides(p, policyv1alpha1.Weighted) }, demand: parts, want: `spec.placement.replicaScheduling of PropagationPolicy "shop/p" has no effect on Deployment "web": its components (jobmanager, taskmanager) are not divided, and each of its clusters runs all of it.`},
		"components that go to one cluster": {policy: func(p *spec) {
			divides(p, policyv1alpha1.Weighted)
			p.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1}}
		}, demand: parts},
		"certain nodes with static weights":       {policy: func(p *spec) { divides(p, policyv1alpha1.Weighted) }, demand: picky},
		"certain nodes with division by capacity": {policy: func(p *spec) { divides(p, policyv1alpha1.Aggregated) }, demand: picky, want: `Deployment "web" runs on certain nodes only`},
		"the highest priority":                    {priority: new(HighestPriority)},
		"a priority of the system":                {priority: new(int32(2000001000)), want: `spec.schedulePriority of PropagationPolicy "shop/p" counts as 1000000000, not as 2000001000: higher priorities are reserved for Kubernetes itself. Name another PriorityClass than "system-node-critical".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := held()
			in.Priority = c.priority
			*in.Winner.PropagationSpec() = spec{SchedulePriority: &policyv1alpha1.SchedulePriority{PriorityClassName: "system-node-critical"}}
			if c.policy != nil {
				c.policy(in.Winner.PropagationSpec())
			}
			NewWithT(t).Expect(TemplateRemarks(in, &c.demand, c.judged)).To(onlySaying(c.want))
		})
	}
}

func TestSystemPriorityIsCapped(t *testing.T) {
	t.Parallel()
	for given, want := range map[int32]int32{-5: -5, 7: 7, HighestPriority: HighestPriority, 2000001000: HighestPriority} {
		g := NewWithT(t)
		in := held()
		in.Priority = &given
		p := Decide(in)
		g.Expect(p.Binding).NotTo(BeNil())
		p.Binding.Update(in.Binding)
		g.Expect(in.Binding.BindingSpec().SchedulePriority.Priority).To(Equal(want))
	}
}

func TestRemarksNameSelectedObjectsThatStayOnTheHub(t *testing.T) {
	t.Parallel()
	exclusions := selector.NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*")}, selector.SkippedKinds{})
	deployment := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	in := func(namespace string, s policyv1alpha1.ResourceSelector) policyv1alpha1.ResourceSelector {
		s.Namespace = namespace
		return s
	}
	root := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt"}
	for name, tc := range map[string]struct {
		namespace string
		selectors []policyv1alpha1.ResourceSelector
		want      []string
	}{
		"a namespace that is propagated":                   {"shop", []policyv1alpha1.ResourceSelector{deployment}, nil},
		"a namespace that stays on the hub":                {"kube-x", []policyv1alpha1.ResourceSelector{deployment, root}, []string{"Nothing that this policy selects is sent to any cluster: namespace kube-x is one of those"}},
		"a namespace of the hub":                           {"karmada-system", []policyv1alpha1.ResourceSelector{deployment}, []string{"namespace karmada-system is one of the hub's own"}},
		"an object that every API server has":              {"shop", []policyv1alpha1.ResourceSelector{deployment, root}, []string{`spec.resourceSelectors[1] selects ConfigMap "kube-root-ca.crt", which is sent to no cluster`}},
		"all namespaces":                                   {"", []policyv1alpha1.ResourceSelector{deployment}, nil},
		"an object in a namespace that stays on the hub":   {"", []policyv1alpha1.ResourceSelector{in("kube-x", deployment)}, []string{`spec.resourceSelectors[0] selects Deployment "web"`}},
		"all objects in a namespace that stays on the hub": {"", []policyv1alpha1.ResourceSelector{in("kube-x", policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"})}, []string{"selects every Deployment"}},
		"a Namespace that stays on the hub":                {"", []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Namespace", Name: "kube-x"}}, []string{`selects Namespace "kube-x"`}},
		"cluster-scoped objects of such a name":            {"", []policyv1alpha1.ResourceSelector{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "kube-x"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			spec := policyv1alpha1.PropagationSpec{ResourceSelectors: tc.selectors}
			var p policyv1alpha1.Policy = &policyv1alpha1.ClusterPropagationPolicy{Spec: spec}
			if tc.namespace != "" {
				p = &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace}, Spec: spec}
			}
			got := StayRemarks(p, exclusions)
			g.Expect(got).To(HaveLen(len(tc.want)))
			for i := range tc.want {
				g.Expect(got[i]).To(ContainSubstring(tc.want[i]))
			}
		})
	}
}
