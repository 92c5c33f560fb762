package fleet

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
)

// Config returns an administrator's configuration for the hub or a member, without client-side rate limits.
func (f *Fleet) Config(name string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig(name))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %q: %w", name, err)
	}
	config.QPS = -1
	return config, nil
}

// Client returns an uncached client of the hub or a member, with an administrator's rights and the scheme of hub and
// agent. It is cached per kubeconfig, because a new one runs discovery on the whole API.
func (f *Fleet) Client(name string) (client.Client, error) {
	kubeconfig, err := os.ReadFile(f.Kubeconfig(name))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %q: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clients[string(kubeconfig)]; ok {
		return c, nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %q: %w", name, err)
	}
	config.QPS = -1
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client of %q: %w", name, err)
	}
	f.clients[string(kubeconfig)] = c
	return c, nil
}

// hubReady returns an error that says what the hub still lacks to create tokens.
func (f *Fleet) hubReady(ctx context.Context) error {
	c, err := f.Client(HubName)
	if err != nil {
		return err
	}
	var clusters clusterv1alpha1.ClusterList
	if err := c.List(ctx, &clusters, client.Limit(1)); err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	var info corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, &info); err != nil {
		return fmt.Errorf("reading what agents are told: %w", err)
	}
	// After a restart all of that exists before the API server can apply the defaults of policies; until then it
	// rejects them.
	policy := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "fleet-probe"}}
	policy.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Namespace", Name: "fleet-probe"}}
	if err := c.Create(ctx, policy, client.DryRunAll); err != nil {
		return fmt.Errorf("trying a policy: %w", err)
	}
	return nil
}

// memberReady returns an error that says what a member still lacks to run pods or, with APIOnly, to serve its API.
func (f *Fleet) memberReady(ctx context.Context, member string) error {
	c, err := f.Client(member)
	if err != nil {
		return err
	}
	// The agent identifies its member by the UID of this namespace, which an API server creates only after it answers.
	if err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
		return fmt.Errorf("reading the namespace by which the member is known: %w", err)
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
		if f.UnsafeExec && node.Status.DaemonEndpoints.KubeletEndpoint.Port == 0 {
			return fmt.Errorf("node %q does not say where its kubelet is", node.Name)
		}
	}
	if ready < f.Nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, f.Nodes)
	}
	if f.APIOnly {
		return nil
	}
	var account corev1.ServiceAccount
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &account); err != nil {
		return fmt.Errorf("reading the default service account: %w", err)
	}
	return nil
}

// ClusterReady returns an error that says what the Cluster of a member still lacks.
func (f *Fleet) ClusterReady(ctx context.Context, member string) error {
	c, err := f.Client(HubName)
	if err != nil {
		return err
	}
	var cluster clusterv1alpha1.Cluster
	if err := c.Get(ctx, client.ObjectKey{Name: member}, &cluster); err != nil {
		return fmt.Errorf("reading cluster %q: %w", member, err)
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil {
		return fmt.Errorf("cluster %q has not reported yet", member)
	}
	if ready.Status != "True" {
		return fmt.Errorf("cluster %q is not ready: %s", member, ready.Message)
	}
	return nil
}
