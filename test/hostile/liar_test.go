package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// honestly is how many replicas an honest cluster reports.
const honestly = 2

// lie is a reported status of a Deployment, whose namespace and name are written NAMESPACE and NAME.
type lie struct {
	report string
	// counts is how many of the replicas claimed to be ready are counted. A lie that is not counted is left out, with a
	// message; one that the API rejects changes nothing.
	counts int
}

// of reports a status of the Deployment.
func of(status string) string { return deploymentReport("NAMESPACE", "NAME", status) }

// with returns an honest status with one field changed.
func with(field, value string) string {
	status := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(readyStatus(honestly)), &status); err != nil {
		panic(err) // a constant of the tests
	}
	var fields []string
	status[field] = json.RawMessage(value)
	for _, name := range slices.Sorted(maps.Keys(status)) {
		fields = append(fields, fmt.Sprintf("%q:%s", name, status[name]))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func lies() map[string]lie {
	deep := func(begin, end string, levels int) string {
		return strings.Repeat(begin, levels) + "1" + strings.Repeat(end, levels)
	}
	another := func(namespace, name string) string {
		return `{"identifier":{"ordinal":0,"group":"apps","version":"v1","kind":"Deployment","resource":"deployments","namespace":"` + namespace +
			`","name":"` + name + `"},"health":"Unhealthy","status":` + readyStatus(77) + `}`
	}
	var many []string
	for i := range 2000 {
		many = append(many, another("NAMESPACE", fmt.Sprintf("other-%d", i)))
	}
	return map[string]lie{
		"nested too deep for a decoder":     {of(deep(`{"a":`, "}", 9_900)), 0},
		"nested too deep, in lists":         {of(`{"conditions":` + deep("[", "]", 9_900) + `}`), 0},
		"nested deeper than anything":       {of(deep(`{"a":`, "}", 70)), 0},
		"less than nothing ready":           {of(with("readyReplicas", "-9")), 0},
		"less than nothing there":           {of(with("replicas", "-2147483648")), 0},
		"less than nothing missing":         {of(with("unavailableReplicas", "-1")), 0},
		"more than fits into the field":     {of(with("readyReplicas", "2147483648")), 0},
		"more than any integer":             {of(with("readyReplicas", "9223372036854775807")), 0},
		"the least of all integers":         {of(with("readyReplicas", "-9223372036854775808")), 0},
		"more than any number":              {of(with("readyReplicas", "1e300")), 0},
		"half a replica":                    {of(with("readyReplicas", "1.5")), 0},
		"a number in words":                 {of(with("readyReplicas", `"two"`)), 0},
		"what is no number":                 {of(with("readyReplicas", `"NaN"`)), 0},
		"a list of numbers":                 {of(with("readyReplicas", `[1]`)), 0},
		"no number":                         {of(with("readyReplicas", "null")), 0},
		"absurdly many":                     {of(with("readyReplicas", "1000000")), 0},
		"as many as the API takes, of all":  {of(readyStatus(math.MaxInt32)), 0},
		"conditions that are none":          {of(with("conditions", `"all is well"`)), honestly},
		"a thousand conditions":             {of(with("conditions", "["+strings.TrimSuffix(strings.Repeat(`{"type":"Available","status":"True"},`, 1000), ",")+"]")), honestly},
		"conditions of no type":             {of(with("conditions", `[{}]`)), honestly},
		"a generation that will not be":     {of(with("observedGeneration", "9007199254740993")), honestly},
		"a generation before all":           {of(with("resourceTemplateGeneration", "-1")), honestly},
		"a status that is a word":           {of(`"fine"`), 0},
		"a status that is a list":           {of(`[` + readyStatus(honestly) + `]`), 0},
		"a status of nothing":               {of(`{}`), 0},
		"a status of null":                  {of(`null`), 0},
		"a status as large as may be":       {of(with("conditions", `[{"type":"`+repeat("x", 900_000)+`","status":"True"}]`)), honestly},
		"escape sequences":                  {of(with("conditions", `[{"type":"Available","status":"True","message":"\u001b[2J\u0007\r\u202e"}]`)), honestly},
		"no JSON":                           {of(`{"readyReplicas":NaN}`), 0},
		"a health that is not":              {strings.ReplaceAll(of(readyStatus(honestly)), `"Healthy"`, `"Excellent"`), honestly},
		"of an object of another name":      {manifestReport(another("NAMESPACE", "mine")), 0},
		"of an object of another namespace": {manifestReport(another("kube-system", "NAME")), 0},
		"of an object of nothing":           {manifestReport(`{"identifier":{},"status":` + readyStatus(77) + `}`), 0},
		"of thousands of objects":           {manifestReport(strings.Join(many, ",")), 0},
		"that nothing is applied":           {strings.ReplaceAll(of(readyStatus(honestly)), `"status":"True"`, `"status":"False"`), 0},
		"with an endless reason": {strings.ReplaceAll(strings.ReplaceAll(of(readyStatus(honestly)), `"status":"True"`, `"status":"False"`),
			`"message":""`, `"message":"`+repeat("x", 30_000)+`"`), 0},
		"nothing at all": {`{"status":null}`, 0},
	}
}

// TestALyingClusterHurtsItselfOnly lets one of two clusters report arbitrary statuses of its applications. The statuses
// of the other cluster and of the templates stay right.
func TestALyingClusterHurtsItselfOnly(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	honest, liar := w.member(t, "honest"), w.member(t, "liar")
	ns := w.api.Namespace(t)
	g.Expect(w.Create(t.Context(), everywhere(ns, honest.name, liar.name))).To(Succeed())
	all := lies()
	apps := slices.Sorted(maps.Keys(all))
	name := func(i int) string { return fmt.Sprintf("web-%d", i) }
	for i := range apps {
		g.Expect(w.Create(t.Context(), deployment(ns, name(i), honestly))).To(Succeed())
	}
	var toHonest, toLiar []string
	for i := range apps {
		toHonest = append(toHonest, worksOf(honest.name)+"/"+honest.workOf(t, ns, name(i)+"-deployment").Name+"/status")
		toLiar = append(toLiar, worksOf(liar.name)+"/"+liar.workOf(t, ns, name(i)+"-deployment").Name+"/status")
	}
	// shown waits until the status of the honest cluster is its report, and the sum in the template is right.
	shown := func(t *testing.T, i, of, others int) {
		t.Helper()
		eventually(t, func(g Gomega) {
			binding := &workv1alpha2.ResourceBinding{}
			g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name(i) + "-deployment"}, binding)).To(Succeed())
			at := slices.IndexFunc(binding.Status.AggregatedStatus, func(item workv1alpha2.AggregatedStatusItem) bool { return item.ClusterName == honest.name })
			g.Expect(at).To(BeNumerically(">=", 0))
			mine := binding.Status.AggregatedStatus[at]
			g.Expect(mine.Applied).To(BeTrue(), mine.AppliedMessage)
			g.Expect(mine.Status).NotTo(BeNil())
			g.Expect(string(mine.Status.Raw)).To(MatchJSON(readyStatus(of)))
			template := &unstructured.Unstructured{}
			template.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name(i)}, template)).To(Succeed())
			ready, _, err := unstructured.NestedInt64(template.Object, "status", "readyReplicas")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ready).To(BeNumerically("==", of+others))
			replicas, _, err := unstructured.NestedInt64(template.Object, "spec", "replicas")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(replicas).To(BeNumerically("==", honestly), "nobody scales it from there")
		})
	}
	for i := range apps {
		honest.reports(t, toHonest[i], deploymentReport(ns, name(i), readyStatus(honestly)))
		liar.reports(t, toLiar[i], deploymentReport(ns, name(i), readyStatus(honestly)))
	}
	for i := range apps {
		shown(t, i, honestly, honestly)
	}
	counts, refused := make([]int, len(apps)), 0
	for i, what := range apps {
		counts[i] = all[what].counts
		code := liar.tells(t, toLiar[i], strings.NewReplacer("NAMESPACE", ns, "NAME", name(i)).Replace(all[what].report))
		g.Expect(code).To(BeNumerically("<", http.StatusInternalServerError), what)
		if code != http.StatusOK {
			counts[i] = honestly // its previous report
			refused++
		}
	}
	for i, what := range apps {
		t.Run(what, func(t *testing.T) { shown(t, i, honestly, counts[i]) })
	}
	for i := range apps {
		honest.reports(t, toHonest[i], deploymentReport(ns, name(i), readyStatus(honestly-1)))
	}
	for i, what := range apps {
		t.Run(what+", and the honest one goes on", func(t *testing.T) { shown(t, i, honestly-1, counts[i]) })
	}
	t.Logf("a cluster told %d lies about applications; %d were refused, and none hurt another", len(all), refused)
}

// TestAClusterThatLiesAboutItselfHurtsItselfOnly lets a cluster report an arbitrary status of itself.
func TestAClusterThatLiesAboutItselfHurtsItselfOnly(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	honest, liar := w.member(t, "frank"), w.member(t, "boaster")
	huge := `"` + repeat("x", 300_000) + `"`
	manyAPIs := `{"apiEnablements":[` + strings.TrimSuffix(strings.Repeat(`{"groupVersion":"a/v1","resources":[{"name":"n","kind":"K"}]},`, 5000), ",") + `]}`
	g.Expect(liar.tells(t, liar.clusterPath()+"/status", `{"status":`+manyAPIs+`}`)).To(Equal(http.StatusUnprocessableEntity),
		"admission policies would look at each API for seconds")
	for what, status := range map[string]string{
		"capacity without end":       `{"resourceSummary":{"allocatable":{"cpu":"1e60","memory":"1e60","pods":"1e60"}}}`,
		"capacity of many digits":    `{"resourceSummary":{"allocatable":{"cpu":"` + repeat("9", 60) + `"}}}`,
		"capacity that takes years":  `{"resourceSummary":{"allocatable":{"cpu":"1e999999999"}}}`,
		"capacity that is no number": `{"resourceSummary":{"allocatable":{"cpu":"NaN"}}}`,
		"capacity below nothing":     `{"resourceSummary":{"allocatable":{"cpu":"-5","pods":"-5"}}}`,
		"use below nothing":          `{"resourceSummary":{"allocated":{"cpu":"-1e60","pods":"-1e60"},"allocating":{"pods":"-1e60"}}}`,
		"nodes without end":          `{"resourceSummary":{"allocatableModelings":[{"grade":0,"count":9223372036854775807},{"grade":0,"count":-1}]}}`,
		"nodes below nothing":        `{"nodeSummary":{"totalNum":-5,"readyNum":-2147483648}}`,
		"more nodes than integers":   `{"nodeSummary":{"totalNum":99999999999}}`,
		"a version without end":      `{"kubernetesVersion":` + huge + `}`,
		"a version that clears":      `{"kubernetesVersion":"\u001b[2J\u202e"}`,
		"kinds without end":          manyAPIs,
		"conditions without end":     `{"conditions":[` + strings.TrimSuffix(strings.Repeat(`{"type":"Ready","status":"True","lastTransitionTime":null,"reason":"","message":""},`, 2000), ",") + `]}`,
		"a reason without end":       `{"conditions":[{"type":"Ready","status":"False","reason":"No","message":` + huge + `,"lastTransitionTime":null}]}`,
		"objects below nothing":      `{"unclaimedObjects":-5}`,
		"remedies":                   `{"remedyActions":["TrafficControl"]}`,
		"nothing":                    `null`,
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			before := w.cluster(t, honest.name)
			g.Expect(liar.tells(t, liar.clusterPath()+"/status", `{"status":`+status+`}`)).To(BeNumerically("<", http.StatusInternalServerError))
			g.Expect(w.List(t.Context(), &clusterv1alpha1.ClusterList{})).To(Succeed(), "all clusters can be listed")
			after := w.cluster(t, honest.name)
			g.Expect(after.Status).To(BeComparableTo(before.Status))
			g.Expect(after.Spec).To(BeComparableTo(before.Spec))
		})
	}

	// It attracts no more replicas than an operator allows, and its claims about other clusters are ignored.
	liar.reportsCapacity(t, `{"cpu":"8","memory":"16Gi","pods":"110"}`)
	liar.reportsCapacity(t, `{"cpu":"1000000","memory":"1000000Gi","pods":"1000000"}`)
	eventually(t, func(g Gomega) {
		g.Expect(w.cluster(t, liar.name).Status.Conditions).To(ContainElement(And(
			HaveField("Type", clusterv1alpha1.ClusterCapacityJumped), HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("capacityLimit")))))
	})
	eventually(t, func(g Gomega) {
		c := w.cluster(t, liar.name)
		c.Spec.CapacityLimit = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		g.Expect(w.Update(t.Context(), c)).To(Succeed())
	})
	ns := w.api.Namespace(t)
	const replicas = 8
	app, policy := deployment(ns, "web", replicas), everywhere(ns, honest.name, liar.name)
	policy.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
		WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
	}
	g.Expect(w.Create(t.Context(), policy)).To(Succeed())
	g.Expect(w.Create(t.Context(), app)).To(Succeed())
	eventually(t, func(g Gomega) {
		binding := &workv1alpha2.ResourceBinding{}
		g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-deployment"}, binding)).To(Succeed())
		shares := map[string]int32{}
		for _, target := range binding.Spec.Clusters {
			shares[target.Name] = target.Replicas
		}
		g.Expect(shares[honest.name] + shares[liar.name]).To(BeNumerically("==", replicas))
		g.Expect(shares[liar.name]).To(BeNumerically("<=", 2), "that many CPUs are believed")
	})
}

// deployment is an application of so many replicas of one CPU each.
func deployment(namespace, name string, replicas int64) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "web", "image": "nginx", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}},
				}}},
			},
		},
	}}
}

// everywhere propagates the Deployments of a namespace to clusters.
func everywhere(namespace string, clusters ...string) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "everywhere"},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}},
		},
	}
}
