package explain_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/test/builder"
)

func web() selector.Target {
	return selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

func policy(namespace, name string, priority int32, selected string) policyv1alpha1.Policy {
	spec := policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: selected}}, Priority: &priority,
	}
	if namespace == "" {
		return &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	return &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	has := policy("shop", "has", 1, "web")
	deleted := policy("shop", "going", 9, "web")
	deleted.(*policyv1alpha1.PropagationPolicy).DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} //nolint:errcheck,forcetypeassert // It is one.
	all := []policyv1alpha1.Policy{
		policy("", "wide", 9, "web"), policy("shop", "low", 0, "web"), policy("shop", "late", 5, "web"), policy("shop", "vague", 1, ""),
		policy("shop", "other", 9, "api"), policy("elsewhere", "web", 9, "web"), deleted, has,
	}
	why := map[string]string{}
	for _, p := range explain.Policies(all, has, true, web()) {
		g.Expect(p.Has).To(Equal(p.Name == "has"))
		why[p.Name] = p.Why
	}
	g.Expect(why).To(HaveLen(6), "those that do not select it are not in the way")
	g.Expect(why["has"]).To(HavePrefix("it has the template"))
	g.Expect(why["wide"]).To(ContainSubstring("takes precedence over any ClusterPropagationPolicy"))
	g.Expect(why["low"]).To(Equal("its priority 0 is lower than 1"))
	g.Expect(why["late"]).To(ContainSubstring("with preemption: Always it would take it"))
	g.Expect(why["vague"]).To(Equal("it selects every one of the kind, the other by name"))
	g.Expect(why["going"]).To(Equal("it is being deleted"))
	g.Expect(explain.Policies(all, has, true, web())[0].Name).To(Equal("has"), "the one that has it comes first")
	g.Expect(explain.Policies([]policyv1alpha1.Policy{has}, nil, false, web())[0].Why).To(ContainSubstring("not looked at it yet"))
	g.Expect(explain.Policies([]policyv1alpha1.Policy{has, policy("shop", "z", 1, "web")}, has, false, web())[1].Why).To(Equal("the name of the other is first in the alphabet"))
}

// A policy may name another version of the template than the one that is explained.
func TestPoliciesOfOtherVersions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := func(p policyv1alpha1.Policy, apiVersion string) policyv1alpha1.Policy {
		p.PropagationSpec().ResourceSelectors[0].APIVersion = apiVersion
		return p
	}
	has, vague := in(policy("shop", "has", 0, "web"), "apps/v1beta1"), policy("shop", "vague", 0, "")
	unserved, foreign := in(policy("shop", "unserved", 0, "web"), "apps/v2"), in(policy("shop", "foreign", 0, "web"), "extensions/v1")
	got := explain.Policies([]policyv1alpha1.Policy{vague, unserved, foreign, has}, has, true, web(), "apps/v1beta1")
	g.Expect(got).To(HaveLen(2), "nobody selects it by others")
	g.Expect(got[0].Has).To(BeTrue())
	g.Expect(got[0].Selects).To(Equal("by name as apps/v1beta1"))
	g.Expect(got[0].Why).To(HavePrefix("it has the template"))
	g.Expect(got[1].Why).To(Equal("it selects every one of the kind, the other by name as apps/v1beta1"))

	// A policy keeps its template even when the version it names is no longer served.
	got = explain.Policies([]policyv1alpha1.Policy{vague, has}, has, true, web())
	g.Expect(got).To(HaveLen(2))
	g.Expect(got[0].Name).To(Equal("has"))
	g.Expect(got[0].Why).To(ContainSubstring("does not serve the object in that version, and it stays as it is: name apps/v1"))
}

func TestNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	have := []workv1alpha2.TargetCluster{{Name: "b", Replicas: 1}, {Name: "a"}}
	g.Expect(explain.ChangeSentence(decide.Decision{Outcome: decide.Scheduled, Targets: []workv1alpha2.TargetCluster{{Name: "a"}, {Name: "b", Replicas: 1}}}, have)).To(BeEmpty())
	g.Expect(explain.ChangeSentence(decide.Decision{Outcome: decide.Scheduled}, have)).To(Equal("A decision made now would choose no cluster; assigned is a, b (1)."))
	g.Expect(explain.ChangeSentence(decide.Decision{Outcome: decide.Unschedulable}, have)).To(BeEmpty())
}

func TestText(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Unix(1000, 0))
	object := applications.Template{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	has := []explain.Policy{{Kind: "PropagationPolicy", Namespace: "shop", Name: "web", Selects: "by name", Has: true, Why: "it has it"}}
	scheduled := &explain.Scheduled{Status: "True", Reason: "Success", Message: "Done.", Last: &at}
	failed := &explain.Scheduled{Status: "False", Reason: "NoClusterFit", Message: "0/2 clusters are available."}
	refused := func(filter string) []explain.Attempt {
		return explain.Attempts(decide.Decision{Attempts: []decide.Attempt{{Message: "0/2", Verdicts: []decide.Verdict{
			{Cluster: "edge-1", Filter: filter, Reason: "short", Detail: "long"}, {Cluster: "edge-2", Filter: filter, Reason: "short"},
		}}}}, nil)
	}
	tests := map[string]struct {
		report explain.Report
		want   []string
	}{
		"nothing selects it":  {explain.Report{}, []string{"Policies that select it:\n  none", "Next: No policy selects this object. Write a PropagationPolicy"}},
		"it is not bound yet": {explain.Report{Policies: has}, []string{"pp shop/web", "Next: The hub has not created a binding yet."}},
		"quotas in the members leave too little": {
			explain.Report{Policies: has, Scheduled: &explain.Scheduled{Status: "False", Reason: "Unschedulable", Message: "Too few."}, Attempts: explain.Attempts(decide.Decision{
				Attempts: []decide.Attempt{{Message: "too few", Verdicts: []decide.Verdict{
					{Cluster: "edge-1", Estimated: true, Capacity: fit.Capacity{Replicas: 1, Limit: "ResourceQuota: cpu"}},
					{Cluster: "edge-2", Estimated: true, Capacity: fit.Capacity{Replicas: 1, Limit: "memory"}},
				}}},
			}, nil)},
			[]string{"1 more (ResourceQuota: cpu)", "1 more (memory)", "Next: ", "ResourceQuota of the namespace", "edge-1"},
		},
		"taints keep it out": {
			explain.Report{Policies: has, Scheduled: failed, Attempts: refused("TaintToleration")},
			[]string{"Scheduled: False (NoClusterFit): 0/2 clusters are available.", "edge-1   refused  -    -      -     TaintToleration: long", "TaintToleration: short", "add clusterTolerations"},
		},
		"the kind is not served": {explain.Report{Policies: has, Scheduled: failed, Attempts: refused("APIEnablement")}, []string{"install its CustomResourceDefinition"}},
		"the wrong clusters":     {explain.Report{Policies: has, Scheduled: failed, Attempts: refused("ClusterAffinity")}, []string{"correct its clusterAffinity"}},
		"no region":              {explain.Report{Policies: has, Scheduled: failed, Attempts: refused("SpreadConstraint")}, []string{"to spread by"}},
		"too little room": {
			explain.Report{Policies: has, Scheduled: failed, Attempts: explain.Attempts(decide.Decision{Attempts: []decide.Attempt{{Affinity: "near", Message: "too little", Verdicts: []decide.Verdict{
				{Cluster: "edge-1", Estimated: true, Capacity: fit.Capacity{Replicas: 3, Limit: "cpu"}},
			}}}}, nil)},
			[]string{`Clusters, group "near", which does not fit: too little`, "3 more (cpu)", "add room, or request less"},
		},
		"nobody knows how much room there is": {
			explain.Report{Policies: has, Scheduled: failed, Attempts: unknown("edge-1", "edge-2", "edge-3", "edge-4", "edge-5")},
			[]string{
				"0 more (no summary)",
				"Why the free resources of clusters are unknown:\n" +
					"  edge-1: The member does not let the agent read nodes (no): give it the verbs list and watch.\n" +
					"  edge-2: Its agent is no longer heard from; before, it said: The member does not let the agent read nodes (no): give it the verbs list and watch.\n" +
					"  edge-3: Its API server is not ready (etcd is down), and its nodes and the requests of its pods were never reported.\n" +
					"  edge-4: Its agent was never heard from; see `hub clusters describe edge-4`.\n" +
					"  edge-5: Its agent has not reported its nodes and the requests of its pods yet; if this does not change, see the agent's log.\n",
				"Next: Clusters fit, but the free resources of edge-1, edge-2, edge-3 and 2 more are unknown",
			},
		},
		"shares, and the limits of them": {
			explain.Report{Policies: has, Scheduled: scheduled, Now: "It would differ.", Attempts: explain.Attempts(decide.Decision{Attempts: []decide.Attempt{{Verdicts: []decide.Verdict{
				{Cluster: "edge-1", Target: true, Replicas: 3, Score: 100, Estimated: true, Capacity: fit.Capacity{Replicas: 3, Limit: "memory"}, Limit: "memory"},
				{Cluster: "edge-2", Limit: "aggregated into fewer clusters"},
			}}}}, []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}})},
			[]string{"Scheduled: True (Success), 60s ago: Done.", "chosen for 3  2    100    3 more (memory)  limited by memory", "not chosen", "aggregated into fewer clusters", "It would differ."},
		},
		"bounds of replicas, and what they leave over": {
			explain.Report{Policies: has, Scheduled: &explain.Scheduled{Status: "True", Reason: "Success", Message: bounded().Message, Last: &at}, Attempts: explain.Attempts(bounded(), nil)},
			[]string{"2 of 5 replicas are placed nowhere", "chosen for 2", "limited by maxReplicas 2", "limited by maxReplicas 1"},
		},
		"a member refuses it": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{{Cluster: "edge-1", Ready: "True", Work: "web-1", Applied: "False", Message: "port 70000", Reported: &at, Overrides: []string{"ports"}}}},
			[]string{"edge-1   True   web-1  False    -       60s    ports          port 70000", "Next: Cluster edge-1 refuses the object"},
		},
		"an overrider has no effect": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{
				{Cluster: "edge-1", WithoutEffect: []string{"OverridePolicy p, x"}},
				{Cluster: "edge-2", WithoutEffect: []string{"OverridePolicy p, x"}},
				{Cluster: "edge-3", WithoutEffect: []string{"OverridePolicy p, x"}},
				{Cluster: "edge-4", WithoutEffect: []string{"OverridePolicy p, y", "OverridePolicy p, x"}},
			}},
			[]string{"Overriders without effect:\n  OverridePolicy p, x (in edge-1, edge-2, edge-3 and 1 more)\n  OverridePolicy p, y (in edge-4)\n"},
		},
		"a member is silent": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{{Cluster: "edge-1", Ready: "Unknown", Applied: "True", Health: "Healthy"}}},
			[]string{"Next: Cluster edge-1 does not report (Ready is Unknown)"},
		},
		"dispatching is suspended": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{{Cluster: "edge-1", Ready: "True", Suspended: true}}},
			[]string{"dispatching is suspended.", "remove spec.suspension"},
		},
		"it is not healthy": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{{Cluster: "edge-1", Ready: "True", Applied: "True", Health: "Unhealthy"}}},
			[]string{"is not healthy there: check its pods"},
		},
		"it is not healthy, and its pods say why": {
			explain.Report{Policies: has, Scheduled: scheduled, Members: []explain.Member{{
				Cluster: "edge-1", Ready: "True", Applied: "True", Health: "Unhealthy",
				PodReasons: []workv1alpha1.PodReason{
					{Reason: "CrashLoopBackOff", Container: "web", Terminated: "OOMKilled", ExitCode: new(int32(137)), Restarts: 4, Pods: 2, Pod: "web-7d4-x1"},
					{Reason: "Unschedulable", Message: "0/3 nodes are available.", Pods: 1, Pod: "web-7d4-x2"},
				},
			}}},
			[]string{
				"Why pods are not ready:\n  CLUSTER  POD         REASON",
				"edge-1   web-7d4-x1  2 pods: CrashLoopBackOff of container web, which ended with exit code 137 (OOMKilled) and was restarted 4 times",
				"edge-1   web-7d4-x2  1 pod: Unschedulable: 0/3 nodes are available",
				"container web needs more memory than its limit",
			},
		},
		"it follows others": {
			explain.Report{State: []string{"It follows shop/web-deployment to edge-1."}, Members: []explain.Member{{Cluster: "edge-1", Ready: "True", Applied: "True", Health: "Healthy"}}},
			[]string{"It follows shop/web-deployment to edge-1."},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := tt.report
			r.Template = object
			r.Advice = explain.Advise(&r)
			var out strings.Builder
			g.Expect(explain.Write(&out, &r, at.Add(time.Minute))).To(Succeed())
			g.Expect(out.String()).To(HavePrefix("Deployment shop/web (apps/v1)\n"))
			for _, part := range tt.want {
				g.Expect(out.String()).To(ContainSubstring(part))
			}
			if name == "it follows others" {
				g.Expect(r.Advice).To(BeEmpty())
			}
		})
	}
}

// bounded is a scheduling decision on 5 replicas for edge-1, which has room for 2, and edge-2, which has room for 1.
func bounded() decide.Decision {
	return decide.Decide(decide.Input{
		Spec: &workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Replicas: 5,
			Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
				ReplicaSchedulingType: policyv1alpha1.Divided,
				ReplicaBounds: []policyv1alpha1.ClusterReplicaBounds{
					{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}}, MaxReplicas: new(int32(2))},
					{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}, MaxReplicas: new(int32(1))},
				},
			}},
		},
		Clusters: []*clusterv1alpha1.Cluster{serving("edge-1"), serving("edge-2")}, Explain: true,
	})
}

func serving(name string) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(name).Obj()
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}
	return c
}

// unknown is an attempt with clusters whose remaining capacity is unknown: edge-1 says why, edge-2 did before it fell
// silent, edge-3 is not ready, edge-4 was never heard from, and edge-5 has only just started.
func unknown(names ...string) []explain.Attempt {
	var verdicts []decide.Verdict
	var fleet []*clusterv1alpha1.Cluster
	for _, name := range names {
		verdicts = append(verdicts, decide.Verdict{Cluster: name, Estimated: true, Capacity: fit.Capacity{Limit: fit.LimitNoSummary}})
		c := builder.MakeCluster(name).Obj()
		says := func(condition string, status metav1.ConditionStatus, message string) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: condition, Status: status, Message: message})
		}
		switch name {
		case "edge-1", "edge-2":
			says(clusterv1alpha1.ClusterReady, map[string]metav1.ConditionStatus{"edge-1": "True", "edge-2": "Unknown"}[name], "")
			says(clusterv1alpha1.ClusterCapacityUnknown, metav1.ConditionTrue, "The member does not let the agent read nodes (no): give it the verbs list and watch.")
		case "edge-3":
			says(clusterv1alpha1.ClusterReady, metav1.ConditionFalse, "etcd is down")
		case "edge-5":
			says(clusterv1alpha1.ClusterReady, metav1.ConditionTrue, "")
		}
		fleet = append(fleet, c)
	}
	out := explain.Attempts(decide.Decision{Attempts: []decide.Attempt{{Message: "too little", Verdicts: verdicts}}}, nil)
	explain.TellUnknown(out, fleet)
	return out
}
