package kubefed_test

import (
	"bytes"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/yaml"

	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/test/builder"
)

// read parses documents as they are in a file.
func read(g Gomega, text string) []conversion.Document {
	objects, err := builder.Objects(text)
	g.Expect(err).NotTo(HaveOccurred())
	out := make([]conversion.Document, len(objects))
	for i, obj := range objects {
		out[i] = conversion.Document{File: "f.yaml", Object: obj}
	}
	return out
}

// written is a result as people see it.
func written(g Gomega, r conversion.Result) string {
	var out bytes.Buffer
	for _, c := range r.Commands {
		out.WriteString("$ " + c + "\n")
	}
	for _, obj := range r.Objects {
		text, err := yaml.Marshal(obj.Object)
		g.Expect(err).NotTo(HaveOccurred())
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

func refusals(r conversion.Result) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Refused {
			out = append(out, f.String())
		}
	}
	return out
}

func told(r conversion.Result) []string {
	var out []string
	for _, f := range r.Findings {
		if !f.Refused {
			out = append(out, f.String())
		}
	}
	return out
}

// shop is a namespace in a, b and c, which are all clusters.
const shop = `
apiVersion: types.kubefed.io/v1beta1
kind: FederatedNamespace
metadata: {name: shop, namespace: shop}
spec: {template: {}, placement: {clusterSelector: {}}}
---
apiVersion: core.kubefed.io/v1beta1
kind: KubeFedCluster
metadata: {name: a, namespace: kube-federation-system, labels: {name: a, tier: gold}}
spec: {apiEndpoint: "https://a:6443", secretRef: {name: a-token}}
status: {region: eu, zones: [eu-1, eu-2], conditions: [{type: Ready, status: "True"}]}
---
apiVersion: core.kubefed.io/v1beta1
kind: KubeFedCluster
metadata: {name: b, namespace: kube-federation-system, labels: {name: b}}
spec: {apiEndpoint: "https://b:6443"}
---
apiVersion: core.kubefed.io/v1beta1
kind: KubeFedCluster
metadata: {name: c, namespace: kube-federation-system, labels: {name: c}}
spec: {}
---
`

func deployment(spec string) string {
	return "apiVersion: types.kubefed.io/v1beta1\nkind: FederatedDeployment\nmetadata: {name: web, namespace: shop}\nspec:\n  template: {spec: {replicas: 2}}\n  " + spec + "\n"
}

func preference(spec string) string {
	return "apiVersion: scheduling.kubefed.io/v1alpha1\nkind: ReplicaSchedulingPreference\nmetadata: {name: web, namespace: shop}\nspec:\n  targetKind: FederatedDeployment\n  " + spec + "\n"
}

func typeConfig(name, kind, federated string) string {
	return "apiVersion: core.kubefed.io/v1beta1\nkind: FederatedTypeConfig\nmetadata: {name: " + name + "}\nspec:\n" +
		"  targetType: {group: apps, version: v1, kind: " + kind + "}\n  federatedType: {group: types.kubefed.io, version: v1beta1, kind: " + federated + "}\n  propagation: Enabled\n"
}
