package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/manifests"
	"fairlead.dev/test/cluster"
)

func TestInstallMakesAFreshAPIThatOfAHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Start(t, cluster.Options{Name: "install"})
	hubClient := hub.Client(t)
	info := &ClusterInfo{Servers: []string{"https://hub.example.com:6443"}, CA: hub.Config.CAData}

	g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: info})).To(Succeed())

	g.Expect(hubClient.List(t.Context(), &clusterv1alpha1.ClusterList{})).To(Succeed(), "kinds are served when Install returns")
	ns := &corev1.Namespace{}
	g.Expect(hubClient.Get(t.Context(), types.NamespacedName{Name: contract.ClusterNamespace}, ns)).To(Succeed())
	g.Expect(ns.Labels).To(HaveKeyWithValue(contract.SystemLabel, contract.LabelTrue))
	told, err := GetClusterInfo(t.Context(), hubClient)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.Servers).To(Equal(info.Servers))
	g.Expect(told.CA).To(Equal(info.CA))

	t.Run("anybody may read where the hub is and nothing else", func(t *testing.T) {
		g := NewWithT(t)
		anonymous := restClient(t, rest.AnonymousClientConfig(hub.Config))
		get := func(path string) error { return anonymous.Get().AbsPath(path).Do(t.Context()).Error() }
		g.Expect(get("/api/v1/namespaces/kube-public/configmaps/cluster-info")).To(Succeed())
		g.Expect(get("/api/v1/namespaces/kube-public/configmaps")).NotTo(Succeed())
		g.Expect(get("/apis/work.karmada.io/v1alpha1/works")).NotTo(Succeed())
	})

	t.Run("agents have a share of the API server of their own", func(t *testing.T) {
		g := NewWithT(t)
		schemas := map[string]string{}
		for _, name := range []string{"fairlead-agents", "fairlead-heartbeats"} {
			flow := &metav1.PartialObjectMetadata{}
			flow.SetGroupVersionKind(schemaKind())
			g.Expect(hubClient.Get(t.Context(), types.NamespacedName{Name: name}, flow)).To(Succeed())
			schemas[string(flow.UID)] = name
		}
		as := rest.CopyConfig(hub.Config)
		as.Impersonate = rest.ImpersonationConfig{UserName: contract.AgentUser("edge-1"), Groups: []string{contract.AgentGroup, "system:authenticated"}}
		agent, err := rest.HTTPClientFor(as)
		g.Expect(err).NotTo(HaveOccurred())
		for request, want := range map[string]string{
			"PATCH /apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/edge-1": "fairlead-heartbeats",
			"PATCH /apis/cluster.karmada.io/v1alpha1/clusters/edge-1/status":              "fairlead-heartbeats",
			"GET /apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-1/works":       "fairlead-agents",
			"GET /apis/cluster.karmada.io/v1alpha1/clusters":                              "fairlead-agents",
		} {
			method, path, _ := strings.Cut(request, " ")
			g.Eventually(func(g Gomega) {
				req, err := http.NewRequestWithContext(t.Context(), method, hub.Config.Host+path, http.NoBody)
				g.Expect(err).NotTo(HaveOccurred())
				answer, err := agent.Do(req)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(answer.Body.Close()).To(Succeed())
				g.Expect(schemas[answer.Header.Get("X-Kubernetes-Pf-Flowschema-Uid")]).To(Equal(want), request)
			}).WithTimeout(time.Minute).Should(Succeed(), "it takes effect a moment later")
		}
	})

	t.Run("what a former version installed goes", func(t *testing.T) {
		g := NewWithT(t)
		old := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{"remedy.karmada.io"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": []any{"remedies"},
			}}},
			"validations": []any{map[string]any{"expression": "false"}},
		}}}
		old.SetAPIVersion("admissionregistration.k8s.io/v1")
		old.SetKind("ValidatingAdmissionPolicy")
		old.SetName("not-acted-on.fairlead.dev")
		g.Expect(hubClient.Create(t.Context(), old)).To(Succeed())
		g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: info})).To(Succeed())
		g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(old), old)).NotTo(Succeed())
	})

	t.Run("a second installation writes nothing", func(t *testing.T) {
		g := NewWithT(t)
		before := versions(t, hubClient)
		g.Expect(before).NotTo(BeEmpty())
		g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: info})).To(Succeed())
		g.Expect(versions(t, hubClient)).To(Equal(before))
	})

	t.Run("another address is published and keeps the signatures", func(t *testing.T) {
		g := NewWithT(t)
		signed := &corev1.ConfigMap{}
		g.Expect(hubClient.Get(t.Context(), clusterInfoKey(), signed)).To(Succeed())
		signed.Data["jws-kubeconfig-abcdef"] = "signature"
		g.Expect(hubClient.Update(t.Context(), signed)).To(Succeed())

		moved := &ClusterInfo{Servers: []string{"https://elsewhere.example.com"}, CA: hub.Config.CAData}
		g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: moved})).To(Succeed())
		told, err := GetClusterInfo(t.Context(), hubClient)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(told.Servers).To(Equal(moved.Servers))
	})

	t.Run("that of others is left alone, unless it is to be taken over", func(t *testing.T) {
		g := NewWithT(t)
		theirs := &ClusterInfo{Servers: []string{"https://kubeadm.example.com:6443"}, CA: hub.Config.CAData}
		cm, err := theirs.render()
		g.Expect(err).NotTo(HaveOccurred())
		cm.SetLabels(nil)
		g.Expect(hubClient.Delete(t.Context(), cm.DeepCopy())).To(Succeed())
		g.Expect(hubClient.Create(t.Context(), cm)).To(Succeed())

		g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: info})).To(Succeed())
		told, err := GetClusterInfo(t.Context(), hubClient)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(told.Servers).To(Equal(theirs.Servers))

		g.Expect(Install(t.Context(), hub.Config, Options{ClusterInfo: info, AdoptClusterInfo: true})).To(Succeed())
		told, err = GetClusterInfo(t.Context(), hubClient)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(told.Servers).To(Equal(info.Servers))
	})

	t.Run("an older hub leaves what a newer one installed", func(t *testing.T) { anOlderHubLeavesWhatANewerOneInstalled(t, hub) })
	t.Run("an installation outlives an API server that is silent in the middle", func(t *testing.T) { anInstallationOutlivesASilence(t, hub) })
	t.Run("an installation waits for room in the database", func(t *testing.T) { anInstallationWaitsForRoom(t, hub) })
}

func schemaKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}
}

func TestAnInstallationThatIsAbortedSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Install(ctx, &rest.Config{Host: "https://127.0.0.1:1"}, Options{})
	g.Expect(err).To(MatchError(context.Canceled))
}

// versions returns the resource versions of everything that is installed.
func versions(t *testing.T, hubClient client.Client) map[string]string {
	t.Helper()
	g := NewWithT(t)
	all := []*unstructured.Unstructured{}
	for _, read := range []func() ([]*unstructured.Unstructured, error){manifests.CRDs, manifests.RBAC, manifests.Policies, manifests.Flow} {
		objects, err := read()
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, objects...)
	}
	for kind, key := range map[string]types.NamespacedName{
		"Namespace": {Name: contract.ClusterNamespace}, "ConfigMap": clusterInfoKey(),
	} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		all = append(all, obj)
	}
	out := map[string]string{}
	for _, obj := range all {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(obj.GroupVersionKind())
		g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(obj), live)).To(Succeed())
		out[fmt.Sprintf("%s %s", obj.GetKind(), obj.GetName())] = live.ResourceVersion
	}
	return out
}

func restClient(t *testing.T, cfg *rest.Config) rest.Interface {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(cfg)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}
