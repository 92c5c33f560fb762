package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/chart"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/test/cluster"
)

func TestTheAgentRendersItsChartAsHelmDoes(t *testing.T) {
	t.Parallel()
	kinds := []string{"configmaps", "deployments.apps", "clusterroles.rbac.authorization.k8s.io"}
	for name, v := range map[string]values{
		"installed by agent join": manifest.Values(manifest.Options{JoinHash: "0123456789"}),
		"printed by agent join":   manifest.Values(manifest.Options{Join: &join, Image: "registry.example.com/agent:v1", Proxy: map[string]string{"NO_PROXY": "a,b"}}),
		"confined to kinds":       manifest.Values(manifest.Options{Join: &join, Kinds: kinds, Volume: manifest.VolumeNone}),
		"confined to namespaces":  manifest.Values(manifest.Options{Namespaces: []string{"a", "b"}, Kinds: kinds, Volume: "/srv/agent", PriorityClass: new("high")}),
		"confined beside itself": manifest.Values(manifest.Options{
			Namespaces: []string{agentNamespace}, Kinds: []string{"configmaps", "widgets.example.com"}, SafeKinds: []string{"widgets.example.com"},
		}),
		"with what Helm alone can say": everythingOfAgents(),
		"lets operators in":            manifest.Values(manifest.Options{Operators: manifest.Operators{Who: []string{"group:ops"}, May: []string{"nodes/proxy"}}}),
		"lets them in as of old":       manifest.Values(manifest.Options{Operators: manifest.Operators{Who: []string{"user:alice", "group:ops"}, In: []string{"a"}, Legacy: true}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			want, diagnosis, err := helm(t, "agent", agentNamespace, v)
			g.Expect(err).NotTo(HaveOccurred(), diagnosis)
			objects, err := chart.Render(agentChart(t), chart.Release{Name: "release", Namespace: agentNamespace}, v)
			g.Expect(err).NotTo(HaveOccurred())
			text, err := manifest.YAML(objects)
			g.Expect(err).NotTo(HaveOccurred())
			got := byName(t, string(text))
			g.Expect(len(got)).To(BeNumerically(">", 7))
			g.Expect(got).To(BeComparableTo(byName(t, want)))
		})
	}
}

func TestAnAgentThatHasJoinedIsToldWhatBecomesOfTheObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := merged(manifest.Values(manifest.Options{}), values{"onRetire": "keep"})
	objects, err := chart.Render(agentChart(t), chart.Release{Name: "release", Namespace: agentNamespace}, v)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := manifest.YAML(objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring("- --on-retire\n        - keep\n"))
}

func TestValuesThatContradictOneAnotherAreRefused(t *testing.T) {
	t.Parallel()
	embedded, external := values{"advertiseHost": "hub.example.com"}, values{"advertiseURL": "https://hub.example.com:6443"}
	for name, tc := range map[string]struct {
		chart  string
		values values
		want   string
	}{
		"no token":              {"agent", agentValues(values{"join": values{"token": ""}}), "set join.token or join.existingSecret"},
		"two tokens":            {"agent", agentValues(values{"join": values{"existingSecret": "s"}}), "unset the one"},
		"a token of no use":     {"agent", agentValues(values{"join": values{"joined": true}}), "unset join.token"},
		"no hub":                {"agent", agentValues(values{"hub": values{"addresses": []any{}}}), "hub.addresses is empty: set it"},
		"no name":               {"agent", agentValues(values{"clusterName": ""}), "clusterName is empty: set it"},
		"no hash":               {"agent", agentValues(values{"hub": values{"caCertHashes": []any{}}}), "hub.caCertHashes is empty: set it"},
		"a hash of no use":      {"agent", agentValues(values{"hub": values{"unsafeSkipCAVerification": true}}), "unset one of the two"},
		"no directory":          {"agent", agentValues(values{"state": values{"volume": "hostPath"}}), "state.hostPath does not say which directory of the node: set it"},
		"a directory of no use": {"agent", agentValues(values{"state": values{"hostPath": "/srv"}}), "set state.volume=hostPath, or unset state.hostPath"},
		"a class of no use":     {"agent", agentValues(values{"state": values{"volume": "none", "storageClass": "fast"}}), "set state.volume=claim, or unset"},
		"a size of no use":      {"agent", agentValues(values{"state": values{"volume": "none", "size": "5Gi"}}), "set state.volume=claim, or unset state.size"},
		"images of no use":      {"agent", agentValues(values{"upgrades": values{"enabled": false, "repositories": []any{"a/"}}}), "set upgrades.enabled=true, or unset upgrades.repositories"},
		"its own namespace":     {"agent", agentValues(values{"namespaces": []any{"a", agentNamespace}}), "could change its own Deployment: set kinds"},
		"its own Deployment":    {"agent", agentValues(values{"namespaces": []any{agentNamespace}, "kinds": []any{"configmaps", "deployments.apps"}}), "take workloads, secrets, roles"},
		"a kind nobody knows":   {"agent", agentValues(values{"namespaces": []any{agentNamespace}, "kinds": []any{"configmaps", "widgets.example.com"}}), "widgets.example.com, of which nobody here knows"},
		"a kind that runs pods": {"agent", agentValues(values{"kinds": []any{"pods"}, "safeKinds": []any{"pods"}}), "whatever is said of it"},
		"a hub without a name":  {"hub", values{}, "embedded.advertiseHost is empty: set it"},
		"a hub with two APIs":   {"hub", values{"embedded": embedded, "external": external}, "set mode=external, or"},
		"no API":                {"hub", values{"mode": "external"}, "external.advertiseURL is empty: set it"},
		"an API of its own":     {"hub", values{"mode": "external", "embedded": embedded}, "set mode=embedded, or"},
		"backups to nowhere":    {"hub", values{"embedded": merged(embedded, values{"backup": values{"every": "6h"}})}, "set it to the name of a PersistentVolumeClaim"},
		"backups for nobody":    {"hub", values{"embedded": merged(embedded, values{"backup": values{"every": "6h", "claim": "c"}})}, "hub backup keygen"},
		"backups of another":    {"hub", values{"mode": "external", "external": external, "embedded": values{"backup": values{"every": "6h"}}}, "back up the etcd of that API"},
		"keys of no use":        {"hub", values{"mode": "external", "external": external, "embedded": values{"backup": values{"recipients": []any{"age1abc"}}}}, "back up the etcd of that API"},
		"backups at no time":    {"hub", values{"embedded": merged(embedded, values{"backup": values{"claim": "c"}})}, "set embedded.backup.every"},
		"a Service for nothing": {"hub", values{"mode": "external", "external": merged(external, values{"connect": values{"service": "a/b:1"}})}, "set external.connect.enabled=true"},
		"a Service of no use":   {"hub", values{"embedded": embedded, "external": values{"connect": values{"enabled": true}}}, "finds the hub by itself: unset it"},
		"a Secret of no use":    {"hub", values{"embedded": embedded, "external": values{"kubeconfigSecret": "mine"}}, "external.kubeconfigSecret is set, and mode is embedded"},
		"replicas of no use":    {"hub", values{"embedded": embedded, "external": values{"replicas": 3}}, "external.replicas is set, and mode is embedded"},
		"storage of no use":     {"hub", values{"mode": "external", "external": external, "embedded": values{"storage": values{"size": "50Gi"}}}, "embedded.storage is set, and mode is external"},
		"another Service":       {"hub", values{"mode": "external", "external": external, "embedded": values{"service": values{"type": "NodePort"}}}, "embedded.service is set, and mode is external"},
		"backups that are kept": {"hub", values{"embedded": merged(embedded, values{"backup": values{"keep": 3}})}, "set embedded.backup.every"},
		"backups kept for it":   {"hub", values{"mode": "external", "external": external, "embedded": values{"backup": values{"keep": 3}}}, "back up the etcd of that API"},
		"a value of no name":    {"agent", agentValues(values{"tolaretions": []any{}}), "tolaretions"},
		"a mode of no name":     {"hub", values{"mode": "both"}, "'embedded', 'external'"},
		"a word for a list":     {"agent", agentValues(values{"namespaces": "a,b"}), "/namespaces"},
		"something for nobody":  {"agent", agentValues(values{"operators": values{"may": []any{"exec"}}}), "operators.who lets nobody in: set it"},
		"operators of no kind":  {"agent", agentValues(values{"operators": values{"who": []any{"alice"}}}), "/operators/who/0"},
		"masters":               {"agent", agentValues(values{"operators": values{"who": []any{"group:system:masters"}}}), "/operators/who/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			namespace := map[string]string{"agent": agentNamespace, "hub": hubNamespace}[tc.chart]
			_, diagnosis, err := helm(t, tc.chart, namespace, tc.values)
			g.Expect(err).To(HaveOccurred())
			g.Expect(diagnosis).To(ContainSubstring(tc.want))
		})
	}
	_, diagnosis, err := helm(t, "agent", "default", agentValues(nil))
	NewWithT(t).Expect(err).To(HaveOccurred())
	NewWithT(t).Expect(diagnosis).To(ContainSubstring("add --namespace karmada-system"))
}

// TestTheDashboardIsReachedInEachMode has the NetworkPolicy admit who comes to the port of the dashboard.
func TestTheDashboardIsReachedInEachMode(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]values{
		"embedded": {"embedded": values{"advertiseHost": "hub.example.com"}},
		"external": {
			"mode": "external", "external": values{"advertiseURL": "https://hub.example.com:6443"},
			"extraArgs": []any{"--dashboard-cert-file=/tls/tls.crt", "--dashboard-key-file=/tls/tls.key"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, diagnosis, err := helm(t, "hub", hubNamespace, v)
			g.Expect(err).NotTo(HaveOccurred(), diagnosis)
			ports := map[string]int32{} // of pods
			var policy networkingv1.NetworkPolicy
			for id, obj := range byName(t, text) {
				raw, err := json.Marshal(obj)
				g.Expect(err).NotTo(HaveOccurred())
				var workload appsv1.Deployment // a StatefulSet has its pods in the same place
				switch kind, _, _ := strings.Cut(id, " "); kind {
				case "NetworkPolicy":
					g.Expect(json.Unmarshal(raw, &policy)).To(Succeed())
				case "Deployment", "StatefulSet":
					g.Expect(json.Unmarshal(raw, &workload)).To(Succeed())
					for _, port := range workload.Spec.Template.Spec.Containers[0].Ports {
						ports[port.Name] = port.ContainerPort
					}
				}
			}
			var everybody []int32
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					g.Expect(ports).To(HaveKey(port.Port.StrVal))
					if len(rule.From) == 0 {
						everybody = append(everybody, ports[port.Port.StrVal])
					}
				}
			}
			g.Expect(everybody).To(ContainElement(int32(8443)))
		})
	}
}

// TestChartsAreAccepted has Helm look at the charts, and an API server at what they make of many values, where the namespaces are
// restricted. That the pods of fewer run is told by TestManifestsRunUnderRestrictedPodSecurity. It comes before the test that installs an
// agent in that namespace, which is parallel to others.
func TestChartsAreAccepted(t *testing.T) {
	g := NewWithT(t)
	member := cluster.Shared(t, cluster.Options{Profile: cluster.Member})
	c, err := client.New(member.Config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{agentNamespace, hubNamespace, "a"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"}}}
		g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), ns))).To(Succeed())
	}
	common := values{
		"image": values{"registry": "", "digest": hash}, "imagePullSecrets": []any{values{"name": "pull"}}, "priorityClassName": "system-cluster-critical",
		"nodeSelector": values{"a": "b"}, "tolerations": []any{values{"operator": "Exists"}}, "affinity": values{"podAntiAffinity": values{}},
		"extraArgs": []any{"--oidc-ca-file=/ca/ca.crt"}, "extraVolumes": []any{values{"name": "ca", "configMap": values{"name": "ca"}}},
		"extraVolumeMounts": []any{values{"name": "ca", "mountPath": "/ca"}}, "resources": values{"requests": values{"memory": "2Gi"}}, "createNamespace": true,
	}
	for name, tc := range map[string]struct {
		chart, namespace string
		values           values
	}{
		"an agent":                  {"agent", agentNamespace, everythingOfAgents()},
		"an agent with a directory": {"agent", agentNamespace, agentValues(values{"namespaces": []any{}, "state": values{"volume": "none"}, "operators": values{"who": []any{"group:ops"}, "legacyImpersonation": true}})},
		"a hub with an API of its own": {"hub", hubNamespace, merged(common, values{"embedded": values{
			"advertiseHost": "hub.example.com", "tlsSANs": []any{"10.0.0.1", "b"}, "storage": values{"class": "fast"},
			"service": values{"type": "NodePort", "annotations": values{"a": "b"}},
			"backup":  values{"every": "6h", "claim": "backup", "recipients": []any{"age1abc"}},
		}})},
		"a hub that an API finds by another Service": {"hub", hubNamespace, values{"mode": "external", "external": values{
			"advertiseURL": "https://hub.example.com:6443", "connect": values{"enabled": true, "service": "kube-system/hub:9444"},
		}}},
		"a hub that the API of its cluster finds": {"hub", hubNamespace, values{"mode": "external", "external": values{
			"advertiseURL": "https://hub.example.com:6443", "connect": values{"enabled": true},
		}}},
		"a hub against another API": {"hub", hubNamespace, merged(common, values{"mode": "external", "external": values{"advertiseURL": "https://hub.example.com:6443", "replicas": 3}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, diagnosis, err := helm(t, tc.chart, tc.namespace, tc.values)
			g.Expect(err).NotTo(HaveOccurred(), diagnosis)
			path := filepath.Join(t.TempDir(), "rendered.yaml")
			g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
			_, warnings, err := run(t, "kubectl", "--kubeconfig", member.Kubeconfig, "apply", "--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server", "-f", path)
			g.Expect(err).NotTo(HaveOccurred(), warnings)
			g.Expect(warnings).NotTo(ContainSubstring("Warning"))
			for id, obj := range byName(t, text) {
				if !strings.HasPrefix(id, "Deployment ") && !strings.HasPrefix(id, "StatefulSet ") {
					continue
				}
				u := unstructured.Unstructured{Object: obj.(values)} //nolint:errcheck,forcetypeassert // It panics.
				containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
				g.Expect(err).NotTo(HaveOccurred())
				args, _, err := unstructured.NestedStringSlice(containers[0].(values), "args") //nolint:errcheck,forcetypeassert // It panics.
				g.Expect(err).NotTo(HaveOccurred())
				expectFlags(t, tc.chart, args)
			}
			given, err := json.Marshal(tc.values)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(path, given, 0o600)).To(Succeed())
			succeed(t, "helm", "lint", "--strict", "--namespace", tc.namespace, "--values", path, file(t, "..", "charts", tc.chart))
		})
	}
}

// TestHelmLosesNothingOfAnAgent installs, upgrades and uninstalls the agent's chart, while somebody else, here the test, writes what
// the agent is on the hub.
func TestHelmLosesNothingOfAnAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := cluster.Shared(t, cluster.Options{Profile: cluster.Member})
	c, err := client.New(member.Config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(agentValues(nil))
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "values.json")
	g.Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	inMember := func(args ...string) string {
		return succeed(t, "helm", append(args, "--kubeconfig", member.Kubeconfig, "--namespace", agentNamespace)...)
	}
	install := func(more ...string) string {
		return inMember(append([]string{"upgrade", "--install", "fairlead-agent", file(t, "..", "charts", "agent"), "--create-namespace", "--values", path}, more...)...)
	}
	expectState := func() {
		t.Helper()
		secret, claim := &corev1.Secret{}, &corev1.PersistentVolumeClaim{}
		key := client.ObjectKey{Namespace: agentNamespace, Name: manifest.Name}
		g.Expect(c.Get(t.Context(), key, secret)).To(Succeed())
		g.Expect(secret.Data).To(HaveKeyWithValue("client.key", []byte("key")))
		g.Expect(c.Get(t.Context(), key, claim)).To(Succeed())
		g.Expect(claim.DeletionTimestamp).To(BeNil())
	}

	g.Expect(install()).To(And(ContainSubstring("joins as cluster edge-1"), ContainSubstring("agent leave --installed")))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: manifest.Name}}
	g.Expect(c.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"client.key":"a2V5"}}`)))).To(Succeed())
	install("--set", "image.tag=v2", "--set", "join.token=,join.joined=true")
	expectState()
	inMember("uninstall", "fairlead-agent", "--wait")
	expectState()
	err = c.Get(t.Context(), client.ObjectKey{Namespace: agentNamespace, Name: manifest.Name}, &appsv1.Deployment{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	install("--set", "join.token=,join.joined=true")
	expectState()
	inMember("uninstall", "fairlead-agent")
}
