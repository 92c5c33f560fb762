package install

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/manifests/charts"
)

type values = map[string]any

const (
	agentNamespace = "karmada-system"
	hubNamespace   = "fairlead-system"
)

var (
	hash = "sha256:" + strings.Repeat("0", 64)
	join = manifest.Join{
		Addresses: []string{"hub.example.com:6443", "hub-2.example.com:6443"}, Hashes: []string{hash}, Cluster: "edge-1", Token: "abcdef.0123456789abcdef",
	}
)

// agentValues are those that a join needs, with others laid over them.
func agentValues(more values) values {
	return merged(values{
		"hub": values{"addresses": []any{"hub.example.com:6443"}, "caCertHashes": []any{hash}}, "clusterName": "edge-1", "join": values{"token": join.Token},
	}, more)
}

func merged(a, b values) values {
	out := maps.Clone(a)
	for key, value := range b {
		if below, isMap := out[key].(values); isMap {
			value = merged(below, value.(values)) //nolint:errcheck,forcetypeassert // It panics.
		}
		out[key] = value
	}
	return out
}

// everythingOfAgents uses what `agent join` has no options for.
func everythingOfAgents() values {
	return agentValues(values{
		"join": values{"token": "", "existingSecret": "token-of-mine"}, "onRetire": "keep", "namespaces": []any{"a", agentNamespace},
		"kinds": []any{"configmaps", "deployments.apps", "roles.rbac.authorization.k8s.io"},
		"image": values{"registry": "registry.example.com:5000", "repository": "x/agent", "tag": "v1.2.3", "digest": hash, "pullPolicy": "Always"},
		"state": values{"storageClass": "fast", "size": "5Gi", "keySecret": "journal"}, "env": values{"HTTPS_PROXY": "http://p:1", "A": "b: \"c\""},
		"asServiceAccount": "tenant", "metrics": true, "priorityClassName": "", "nodeSelector": values{"a": "b"}, "tolerations": []any{values{"key": "k", "operator": "Exists"}},
		"affinity":         values{"nodeAffinity": values{"requiredDuringSchedulingIgnoredDuringExecution": values{"nodeSelectorTerms": []any{values{"matchExpressions": []any{values{"key": "k", "operator": "Exists"}}}}}}},
		"imagePullSecrets": []any{values{"name": "pull"}}, "podAnnotations": values{"example.com/a": "true"}, "extraArgs": []any{"--log-format", "json"}, "resources": values{"limits": values{"cpu": "1"}}, "createNamespace": true, "runAs": "assigned",
		"operators": values{
			"who": []any{"group:Domain Admins", "user:alice", "user:system:serviceaccount:a:argo"}, "in": []any{"a", agentNamespace}, "identity": "same",
			"may": []any{"exec", "port-forward", "write", "secrets", "pods/proxy", "services/proxy"}, "apiGroups": []any{"cert-manager.io"},
		},
	})
}

// helm renders a chart with Helm.
func helm(t *testing.T, name, namespace string, v values, more ...string) (out, diagnosis string, err error) {
	t.Helper()
	text, err := json.Marshal(v)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "values.json")
	NewWithT(t).Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	args := []string{"template", "release", file(t, "..", "charts", name), "--namespace", namespace, "--values", path}
	return run(t, "helm", append(args, more...)...)
}

// agentChart returns the files of the agent's chart.
func agentChart(t *testing.T) fs.FS {
	t.Helper()
	files, err := charts.Agent()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return files
}

// byName decodes objects, by KIND NAMESPACE/NAME.
func byName(t *testing.T, text string) map[string]any {
	t.Helper()
	g := NewWithT(t)
	out := map[string]any{}
	for document := range strings.SplitSeq(text, "\n---") {
		obj := &unstructured.Unstructured{}
		g.Expect(yaml.UnmarshalStrict([]byte(strings.TrimPrefix(document, "---")), &obj.Object)).To(Succeed(), document)
		if obj.Object == nil {
			continue
		}
		id := obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		g.Expect(out).NotTo(HaveKey(id))
		out[id] = obj.Object
	}
	return out
}
