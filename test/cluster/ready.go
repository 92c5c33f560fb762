package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
)

// awaitReady returns when the API answers and, in a member, the nodes are ready.
func (c *Cluster) awaitReady(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, startPoll, true, func(ctx context.Context) (bool, error) {
		if c.process.Ended() {
			return false, errors.New("it stopped by itself")
		}
		last = c.ready(ctx, o)
		return last == nil, nil
	})
	if ctx.Err() != nil {
		return fmt.Errorf("not ready after %s: %w", startTimeout, last)
	}
	return err
}

// ready returns an error that says what is missing.
func (c *Cluster) ready(ctx context.Context, o Options) error {
	if c.Config == nil {
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		if err != nil {
			return fmt.Errorf("waiting for the kubeconfig: %w", err)
		}
		config.QPS = -1
		c.Config = config
	}
	api, err := restClient(c.Config)
	if err != nil {
		return err
	}
	if err := api.Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	var nodes corev1.NodeList
	if o.Profile != Member {
		return nil
	}
	if err := api.Get().AbsPath("/api/v1/nodes").Do(ctx).Into(&nodes); err != nil {
		return fmt.Errorf("reading its nodes: %w", err)
	}
	if n := countReady(nodes.Items); n < o.Nodes {
		return fmt.Errorf("%d of %d nodes are ready", n, o.Nodes)
	}
	for _, node := range nodes.Items {
		if o.UnsafeExec && node.Status.DaemonEndpoints.KubeletEndpoint.Port == 0 {
			return fmt.Errorf("node %q does not say where its kubelet is", node.Name)
		}
	}
	// Without this ServiceAccount no pod is admitted to the default namespace.
	if err := api.Get().AbsPath("/api/v1/namespaces/default/serviceaccounts/default").Do(ctx).Error(); err != nil {
		return fmt.Errorf("reading the default service account: %w", err)
	}
	return nil
}

func countReady(nodes []corev1.Node) int {
	n := 0
	for _, node := range nodes {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}
