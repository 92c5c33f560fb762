package apiserver

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stored returns the spec of an object as the API would store it.
func (a admission) stored(t *testing.T, g Gomega, kind, spec string) string {
	t.Helper()
	u := a.object(t, "policy.karmada.io/v1alpha1", kind, spec)
	g.Expect(a.client.Create(t.Context(), u, client.DryRunAll)).To(Succeed())
	data, err := json.Marshal(u.Object["spec"])
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// named inserts the namespace of the test into a text.
func (a admission) named(text string) string {
	return strings.ReplaceAll(text, "NAMESPACE", a.namespace)
}

func TestDefaultsAreStored(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const graceful = `{"application":{"decisionConditions":{"tolerationSeconds":300},"gracePeriodSeconds":600,"purgeMode":"Gracefully"}}`
	wide := []string{"PropagationPolicy", "ClusterPropagationPolicy"}
	tests := map[string]struct {
		kinds []string
		spec  string
		want  string // path and value
	}{
		"the namespace of every selector that has none": {
			wide[:1], "resourceSelectors: [{apiVersion: v1, kind: Secret, name: a}, {apiVersion: v1, kind: Secret, namespace: NAMESPACE}]\n",
			`{"resourceSelectors":[{"apiVersion":"v1","kind":"Secret","name":"a","namespace":"NAMESPACE"},{"apiVersion":"v1","kind":"Secret","namespace":"NAMESPACE"}]}`,
		},
		"but not where it means every namespace": {
			wide[1:], selects, `{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment"}]}`,
		},
		"the namespace of a selector of overrides": {
			[]string{"OverridePolicy"}, selects, `{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment","namespace":"NAMESPACE"}]}`,
		},
		"overrides of whatever there is say no more than that": {
			[]string{"OverridePolicy"}, "overrideRules: [{overriders: {}}]\n", `{"overrideRules":[{"overriders":{}}]}`,
		},
		"what a spread constraint is about, and of how many": {
			wide, selects + "placement: {spreadConstraints: [{}, {spreadByField: region, minGroups: 2}, {spreadByLabel: rack, minGroups: 0}]}\n",
			`{"placement":{"spreadConstraints":[{"spreadByField":"cluster","minGroups":1},{"spreadByField":"region","minGroups":2},{"spreadByLabel":"rack","minGroups":1}]}}`,
		},
		"how replicas are divided": {
			wide, selects + "placement: {replicaScheduling: {}}\n",
			`{"placement":{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted"}}}`,
		},
		"unless it is said": {
			wide, selects + "placement: {replicaScheduling: {replicaDivisionPreference: Aggregated}}\n",
			`{"placement":{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}}}`,
		},
		"nothing of what is not divided": {
			wide, selects + "placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}\n",
			`{"placement":{"replicaScheduling":{"replicaSchedulingType":"Duplicated"}}}`,
		},
		"how long an application may take to leave": {
			wide, selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}}}\n", `{"failover":` + graceful + `}`,
		},
		"unless it leaves at once": {
			wide, selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}, purgeMode: Directly}}\n",
			`{"failover":{"application":{"decisionConditions":{"tolerationSeconds":300},"purgeMode":"Directly"}}}`,
		},
		"that endpoints follow what imports them": {
			wide, "resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, name: a}]\n", `{"propagateDeps":true}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range tt.kinds {
				g := NewWithT(t)
				var got, want map[string]any
				g.Expect(json.Unmarshal([]byte(a.stored(t, g, kind, a.named(tt.spec))), &got)).To(Succeed())
				g.Expect(json.Unmarshal([]byte(a.named(tt.want)), &want)).To(Succeed())
				for field, value := range want {
					g.Expect(got).To(HaveKeyWithValue(field, value), kind)
				}
			}
		})
	}
}

func TestADefaultIsFilledInWhereTheAuthorWritesOnly(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	p := a.object(t, "policy.karmada.io/v1alpha1", "PropagationPolicy", selects+"placement: {replicaScheduling: {}}\n")
	g.Expect(a.client.Create(t.Context(), p)).To(Succeed())
	generation := p.GetGeneration()
	p.SetLabels(map[string]string{"a": "b"})
	g.Expect(a.client.Update(t.Context(), p)).To(Succeed())
	g.Expect(p.GetGeneration()).To(Equal(generation))

	g.Expect(unstructured.SetNestedField(p.Object, map[string]any{}, "spec", "placement", "replicaScheduling")).To(Succeed())
	g.Expect(a.client.Update(t.Context(), p)).To(Succeed())
	preference, _, err := unstructured.NestedString(p.Object, "spec", "placement", "replicaScheduling", "replicaDivisionPreference")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(preference).To(Equal("Weighted"), "whoever takes it out gets it again")
}

func TestDefaultsOfAClusterAreStored(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	const spec = `syncMode: Pull
zone: b
resourceModels:
- {grade: 2, ranges: [{name: cpu, min: 2, max: 4}, {name: memory, min: 1Gi, max: 2Gi}]}
- {grade: 1, ranges: [{name: memory, min: 1, max: 1Gi}, {name: cpu, min: 1, max: 2}]}
`
	u := a.object(t, "cluster.karmada.io/v1alpha1", "Cluster", spec)
	g.Expect(a.client.Create(t.Context(), u, client.DryRunAll)).To(Succeed())
	got, err := json.Marshal(u.Object["spec"])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(MatchJSON(`{"syncMode": "Pull", "zones": ["b"], "resourceModels": [
			{"grade": 2, "ranges": [{"name": "cpu", "min": 2, "max": "9223372036854775807"}, {"name": "memory", "min": "1Gi", "max": "9223372036854775807"}]},
			{"grade": 1, "ranges": [{"name": "memory", "min": "0", "max": "1Gi"}, {"name": "cpu", "min": "0", "max": 2}]}]}`))
}
