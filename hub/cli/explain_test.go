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
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Start(t, cluster.Options{Name: "explain"})
	g.Expect(apiserver.Install(t.Context(), hub.Config, apiserver.Options{})).To(Succeed())
	c := hub.Client(t)
	create := func(objects ...client.Object) {
		t.Helper()
		for _, obj := range objects {
			g.Expect(c.Create(t.Context(), obj)).To(Succeed())
		}
	}
	// What detector and scheduler would have written.
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
	g.Expect(explained("cm/alone")).To(ContainSubstring("Next: No policy selects this object."))

	// It fits again where it would rather be.
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
		`Group "near" of clusterAffinities is preferred, and has room. It goes there when there has been room for a while`))
	away.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	g.Expect(c.Update(t.Context(), away)).To(Succeed())
	g.Expect(explained("cm/spare")).To(And(ContainSubstring("is suspended"), Not(ContainSubstring("It goes there"))))

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

	for want, args := range map[string][]string{
		`the hub has no ConfigMap "none" in namespace "default"`: {"cm/none"},
		`the hub knows no kind "frobs"`:                          {"frobs/x"},
		"name the object as KIND/NAME":                           {"settings"},
		"--what-if and -f go together":                           {"--what-if", "cm/settings"},
		"--output \"xml\"":                                       {"cm/settings", "-o", "xml"},
		"reading the file":                                       {"--what-if", "-f", file + ".none"},
	} {
		e.out, e.err = output{}, output{}
		g.Expect(e.run(t.Context(), append([]string{"explain"}, args...)...)).To(Equal(1))
		g.Expect(e.lastLine()).To(ContainSubstring(want))
	}
}

// versions tells whether anything was written.
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
