package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	c := hub.Client(t)
	create := func(objects ...client.Object) {
		t.Helper()
		for _, obj := range objects {
			g.Expect(c.Create(t.Context(), obj)).To(Succeed())
		}
	}
	// What the detector and the scheduler would have written.
	p := builder.MakePolicy("default", "settings").Select("v1", "ConfigMap", "settings").ClusterLabel("site", "shop").Obj()
	template := builder.MakeConfigMap("default", "settings", "k", "v").Obj()
	claim.Set(template, claim.Claim{Namespace: "default", Name: "settings", ID: "id"})
	far := builder.MakeCluster("edge-2").Taint("k", corev1.TaintEffectNoSchedule).Label("site", "shop").Obj()
	near := builder.MakeCluster("edge-1").Label("site", "shop").Obj()
	create(p, template, near, far, builder.MakeConfigMap("default", "alone", "k", "v").Obj())
	for _, member := range []*clusterv1alpha1.Cluster{near, far} {
		member.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
			{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}},
		}
		g.Expect(c.Status().Update(t.Context(), member)).To(Succeed())
	}
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: contract.BindingName("ConfigMap", "settings")},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "settings"},
			Placement: &p.Spec.Placement, Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}},
		},
	}
	create(b)
	e := execution{env: map[string]string{"KUBECONFIG": hub.Kubeconfig}}
	explained := func(args ...string) string {
		t.Helper()
		e.out, e.err = output{}, output{}
		g.Expect(e.run(t.Context(), append([]string{"explain"}, args...)...)).To(BeZero(), e.err.String())
		return e.out.String()
	}

	text := explained("cm/settings")
	g.Expect(text).To(HavePrefix("ConfigMap default/settings (v1)\n"))
	g.Expect(text).To(MatchRegexp(`pp default/settings +0 +by name +yes`))
	g.Expect(text).To(MatchRegexp(`edge-1 +chosen`))
	g.Expect(text).To(MatchRegexp(`edge-2 +refused .*TaintToleration`))
	g.Expect(text).To(ContainSubstring("there is no Work yet"))
	g.Expect(explained("configmap", "settings", "-o", "json")).To(ContainSubstring(`"cluster": "edge-1"`))
	g.Expect(explained("configmaps/settings", "-o", "yaml")).To(ContainSubstring("filter: TaintToleration"))
	g.Expect(explained("cm/alone")).To(And(ContainSubstring("Next: No policy selects this object."),
		MatchRegexp(`Policies that nearly select it:\n +POLICY +WHY NOT\n +pp default/settings +resourceSelectors\[0\] says the name settings\n`)))

	// The application fits again in its preferred cluster.
	template = builder.MakeConfigMap("default", "spare", "k", "v").Obj()
	groups := &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "near", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}}},
		{AffinityName: "far", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}},
	}}
	applied, err := json.Marshal(groups)
	g.Expect(err).NotTo(HaveOccurred())
	away := b.DeepCopy()
	away.ObjectMeta = metav1.ObjectMeta{
		Namespace: "default", Name: contract.BindingName("ConfigMap", "spare"),
		Labels:      map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"},
		Annotations: map[string]string{contract.AppliedPlacementAnnotation: string(applied), contract.ReturnToPreferredAnnotation: "true"},
	}
	away.Spec.Resource.Name, away.Spec.Placement, away.Spec.Clusters = "spare", groups, []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	create(template, away)
	away.Status.SchedulerObservedAffinityName = "far"
	g.Expect(c.Status().Update(t.Context(), away)).To(Succeed())
	g.Expect(explained("cm/spare")).To(ContainSubstring(
		`Group "near" of clusterAffinities is preferred, and has room. It moves there when there has been room for a while`))
	away.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	g.Expect(c.Update(t.Context(), away)).To(Succeed())
	g.Expect(explained("cm/spare")).To(And(ContainSubstring("is suspended"), Not(ContainSubstring("It moves there"))))

	file := filepath.Join(t.TempDir(), "policy.yaml")
	g.Expect(os.WriteFile(file, []byte(`# what if
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
  placement: {clusterTolerations: [{key: k, operator: Exists}]}
`), 0o600)).To(Succeed())
	before := versions(t, g, c)
	text = explained("--what-if", "-f", file)
	g.Expect(text).To(ContainSubstring("ConfigMap default/alone"))
	g.Expect(text).To(ContainSubstring("It would go to edge-1, edge-2; now it is assigned to no cluster."))
	g.Expect(text).To(MatchRegexp(`pp default/all +0 +every one of the kind +no +it selects every one of the kind, the other by name`), "settings stays where it is")
	g.Expect(versions(t, g, c)).To(Equal(before), "nothing was touched")

	whatIfKnowsItsNeighbours(t, c, b, explained)

	// The remaining capacity of edge-1 is unknown.
	near.Status.APIEnablements = append(near.Status.APIEnablements, clusterv1alpha1.APIEnablement{
		GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}},
	})
	now := metav1.Now()
	near.Status.Conditions = []metav1.Condition{
		{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: now},
		{
			Type: clusterv1alpha1.ClusterCapacityUnknown, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonReadForbidden, LastTransitionTime: now,
			Message: "The member does not let the agent read nodes.",
		},
	}
	g.Expect(c.Status().Update(t.Context(), near)).To(Succeed())
	create(builder.MakeDeployment("default", "web").Replicas(2).Obj())
	divide := filepath.Join(t.TempDir(), "divide.yaml")
	g.Expect(os.WriteFile(divide, []byte(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement:
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}
`), 0o600)).To(Succeed())
	g.Expect(explained("deployment/web", "--what-if", "-f", divide)).To(And(
		MatchRegexp(`edge-1 +not chosen .*0 more \(no summary\)`),
		ContainSubstring("Why the free resources of clusters are unknown:\n  edge-1: The member does not let the agent read nodes.\n")))

	for want, args := range map[string][]string{
		`the hub has no ConfigMap "none" in namespace "default"`: {"cm/none"},
		`the hub knows no kind "frobs"`:                          {"frobs/x"},
		"name the object as KIND/NAME":                           {"settings"},
		"--what-if and -f go together":                           {"--what-if", "cm/settings"},
		"--output is \"xml\"":                                    {"cm/settings", "-o", "xml"},
		"reading the file":                                       {"--what-if", "-f", file + ".none"},
	} {
		e.out, e.err = output{}, output{}
		g.Expect(e.run(t.Context(), append([]string{"explain"}, args...)...)).To(Equal(1))
		g.Expect(e.lastLine()).To(ContainSubstring(want))
	}
}

// whatIfKnowsItsNeighbours checks that a what-if respects anti-affinity to existing applications and to the others that
// it supposes, and avoids the cluster that the application was evicted from.
func whatIfKnowsItsNeighbours(t *testing.T, c client.Client, like *workv1alpha2.ResourceBinding, explained func(...string) string) {
	t.Helper()
	g := NewWithT(t)
	bound := func(name string, change func(*workv1alpha2.ResourceBinding)) {
		b := like.DeepCopy()
		b.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: contract.BindingName("ConfigMap", name)}
		b.Spec.Resource.Name = name
		change(b)
		g.Expect(c.Create(t.Context(), b)).To(Succeed())
	}
	for _, name := range []string{"first", "second", "third", "tried"} {
		template := builder.MakeConfigMap("default", name, "k", "v").Obj()
		template.SetLabels(map[string]string{"app": "shy", "set": name})
		if name == "second" || name == "third" {
			template.SetLabels(map[string]string{"app": "shy", "set": "both"})
		}
		g.Expect(c.Create(t.Context(), template)).To(Succeed())
	}
	bound("first", func(b *workv1alpha2.ResourceBinding) {
		b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AntiAffinityGroup: "app=shy"}
	})
	bound("tried", func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters, b.Spec.Resource.ResourceVersion = nil, "7"
		g.Expect(evictions.Set(b, []workv1alpha2.Eviction{
			{From: "edge-1", At: metav1.Now(), Reason: workv1alpha2.EvictionApplicationFailure, Template: "7"},
		})).To(Succeed())
	})
	ask := func(set, apart string) string {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		g.Expect(os.WriteFile(file, []byte(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: `+set+`, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {set: `+set+`}}}]
  placement: {clusterTolerations: [{key: k, operator: Exists}], spreadConstraints: [{spreadByField: cluster, maxGroups: 1, minGroups: 1}]`+apart+`}
`), 0o600)).To(Succeed())
		return explained("--what-if", "-f", file)
	}
	text := ask("both", ", workloadAffinity: {antiAffinity: {groupByLabelKey: app}}")
	g.Expect(text).To(MatchRegexp(`edge-1 +refused .*WorkloadAntiAffinity: "first-configmap" of the same anti-affinity group is on it`))
	g.Expect(text).To(ContainSubstring("It would go to edge-2; now it is assigned to no cluster."))
	g.Expect(text).To(MatchRegexp(`edge-2 +refused .*WorkloadAntiAffinity: "(second|third)-configmap" of the same anti-affinity group is on it`), "the other is supposed to be there")
	g.Expect(ask("tried", "")).To(ContainSubstring("It would go to edge-2; now it is assigned to no cluster."), "it was given up in edge-1")
}

// versions returns the resource versions of objects, to tell whether anything was written.
func versions(t *testing.T, g *WithT, c client.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range []string{"PropagationPolicyList", "OverridePolicyList"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("policy.karmada.io/v1alpha1")
		list.SetKind(kind)
		g.Expect(c.List(t.Context(), list)).To(Succeed())
		for i := range list.Items {
			out[kind+list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
		}
	}
	var maps corev1.ConfigMapList
	g.Expect(c.List(t.Context(), &maps, client.InNamespace("default"))).To(Succeed())
	for i := range maps.Items {
		out[maps.Items[i].Name] = maps.Items[i].ResourceVersion
	}
	var bindings workv1alpha2.ResourceBindingList
	g.Expect(c.List(t.Context(), &bindings)).To(Succeed())
	for i := range bindings.Items {
		out[bindings.Items[i].Name] = bindings.Items[i].ResourceVersion
	}
	return out
}
