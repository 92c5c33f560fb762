package kubefed_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/people/migrate/kubefed"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const name = "f.yaml: FederatedDeployment shop/web: "
	tests := map[string]struct {
		in    string
		plain bool
		want  []string
	}{
		"a path that cannot differ": {
			in:   deployment(`overrides: [{clusterName: a, clusterOverrides: [{path: /apiVersion, value: v2}]}]`),
			want: []string{name + "spec.overrides[0].clusterOverrides[0].path: /apiVersion cannot differ by cluster; write two templates"},
		},
		"a kind that nobody knows": {
			in:   `{apiVersion: types.kubefed.io/v1beta1, kind: FederatedGizmo, metadata: {name: web, namespace: shop}, spec: {template: {}}}`,
			want: []string{"f.yaml: FederatedGizmo shop/web: kind: no FederatedTypeConfig says which kind FederatedGizmo federates, and it is not a kind of Kubernetes; add its FederatedTypeConfig to the files"},
		},
		"two federated types of one target": {
			in: typeConfig("deployments.apps", "Deployment", "FederatedDeployment") + "---\n" + typeConfig("other.apps", "Deployment", "FederatedOther") + "---\n" + deployment(""),
			want: []string{
				name + "kind: deployments.apps and other.apps are two federated types of one target; remove one of them and the objects of its kind",
				"f.yaml: FederatedTypeConfig other.apps: spec.targetType: FederatedTypeConfig deployments.apps has the same target or federated type; remove one of the two",
			},
		},
		"the whole spec beside replicas that are divided": {
			in:   deployment("placement: {clusters: [{name: a}, {name: b}]}\n  " + `overrides: [{clusterName: a, clusterOverrides: [{path: /spec, value: {replicas: 3}}]}, {clusterName: b, clusterOverrides: [{path: /spec/replicas, value: 4}]}]`),
			want: []string{name + "spec.overrides[0].clusterOverrides[0].path: /spec replaces the replicas too, which are divided; override single fields of it"},
		},
		"a field that KubeFed does not have": {
			in:   deployment(`surprise: 1`),
			want: []string{name + "spec.surprise: KubeFed has no field of this name; correct or remove it"},
		},
		"a placement that cannot be said": {
			in:   deployment(`placement: {clusterSelector: {matchExpressions: [{key: a, operator: Near}]}}`),
			want: []string{name + `spec.placement.clusterSelector: "Near" is not a valid label selector operator`},
		},
		"a cluster twice": {
			in:   deployment(`overrides: [{clusterName: a}, {clusterName: a}]`),
			want: []string{name + `spec.overrides[1].clusterName: "a" appears twice; KubeFed applies neither`},
		},
		"an object of no namespace that is in one": {
			in:   `{apiVersion: types.kubefed.io/v1beta1, kind: FederatedDeployment, metadata: {name: web}, spec: {template: {}}}`,
			want: []string{"f.yaml: FederatedDeployment web: metadata.namespace: it is missing, and every Deployment has one; write it into the file"},
		},
		"one that its FederatedTypeConfig says is in one": {
			in: strings.Replace(typeConfig("gizmos.apps", "Gizmo", "FederatedGizmo"), "kind: Gizmo}", "kind: Gizmo, scope: Namespaced}", 1) +
				"---\n{apiVersion: types.kubefed.io/v1beta1, kind: FederatedGizmo, metadata: {name: web}, spec: {template: {}}}",
			want: []string{"f.yaml: FederatedGizmo web: metadata.namespace: it is missing, and every Gizmo has one; write it into the file"},
		},
		"one that is in none": {
			in:   `{apiVersion: types.kubefed.io/v1beta1, kind: FederatedClusterRole, metadata: {name: read, namespace: shop}, spec: {template: {}}}`,
			want: []string{"f.yaml: FederatedClusterRole shop/read: metadata.namespace: a ClusterRole is not namespaced; remove it"},
		},
		"a cluster that cannot have its name": {
			in:   deployment(`placement: {clusters: [{name: a.example.com}]}`),
			want: []string{name + `spec.placement.clusters[0].name: cluster name "a.example.com" must consist of lower-case letters, digits and '-', and begin and end with a letter or digit here`},
		},
		"a path twice": {
			in:   deployment(`overrides: [{clusterName: a, clusterOverrides: [{path: /spec/paused, value: true}, {path: /spec/paused, value: false}]}]`),
			want: []string{name + `spec.overrides[0].clusterOverrides[1].path: /spec/paused appears twice for a cluster; KubeFed applies neither`},
		},
		"a value that is missing": {
			in:   deployment(`overrides: [{clusterName: a, clusterOverrides: [{path: /spec/paused, op: add}]}]`),
			want: []string{name + `spec.overrides[0].clusterOverrides[0].value: there is no value to add, which would set null; give it a value, or remove the field`},
		},
		"a field of another type": {
			in:   deployment(`placement: {clusters: all}`),
			want: []string{name + "spec.placement.clusters: a string is not expected here; correct it"},
		},
		"the same object in two places": {
			in:   deployment("") + "---\n" + deployment(""),
			want: []string{name + "metadata.name: the object is in f.yaml too; remove one of the two"},
		},
		"a preference without its object": {
			in:   preference("totalReplicas: 3"),
			want: []string{"f.yaml: ReplicaSchedulingPreference shop/web: spec.targetKind: there is no FederatedDeployment of this name; remove the preference, or add the object to the files"},
		},
		"bounds, where only what others have is wanted": {
			in: deployment("placement: {clusterSelector: {}}") + "---\n" + preference("totalReplicas: 3\n  clusters: {a: {weight: 1, maxReplicas: 2}}"), plain: true,
			want: []string{
				name + "its ReplicaSchedulingPreference shop/web is refused",
				"f.yaml: ReplicaSchedulingPreference shop/web: spec.clusters[a].maxReplicas: only this hub has bounds of replicas; leave out --plain",
			},
		},
		"a preference that cannot be read takes its object along": {
			in: deployment("placement: {clusterSelector: {}}") + "---\n" + preference("totalReplicas: three"),
			want: []string{
				name + "its ReplicaSchedulingPreference shop/web is refused",
				"f.yaml: ReplicaSchedulingPreference shop/web: spec.totalReplicas: a string is not expected here; correct it",
			},
		},
		"options of a deletion that cannot be said": {
			in:   `{apiVersion: types.kubefed.io/v1beta1, kind: FederatedSecret, metadata: {name: s, namespace: shop, annotations: {kubefed.io/deleteoption: '{"gracePeriodSeconds":5}'}}, spec: {template: {}}}`,
			want: []string{"f.yaml: FederatedSecret shop/s: metadata.annotations[kubefed.io/deleteoption]: gracePeriodSeconds is not supported here; remove it, and set propagationPolicy"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := kubefed.Convert(read(g, shop+tt.in), kubefed.Options{Replicas: kubefed.Freeze, Plain: tt.plain})
			g.Expect(refusals(r)).To(Equal(tt.want))
			g.Expect(written(g, r)).NotTo(ContainSubstring("kind: Deployment"), "what is refused is left out")
		})
	}
}

func TestMoreReplicasThanThereCanBeAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := deployment("placement: {clusters: [{name: a}, {name: b}]}\n  overrides: [{clusterName: a, clusterOverrides: [{path: /spec/replicas, value: 2000000000}]}, {clusterName: b, clusterOverrides: [{path: /spec/replicas, value: 2000000000}]}]") +
		"---\n" + preference("totalReplicas: 3")
	r := kubefed.Convert(read(g, shop+in), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(refusals(r)).To(HaveLen(2))
	g.Expect(written(g, r)).NotTo(ContainSubstring("Deployment"))
}
