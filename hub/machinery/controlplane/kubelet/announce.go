package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// announcePeriod is the delay between attempts if the API server does not respond.
const announcePeriod = 500 * time.Millisecond

// announce sets the kubelet's address and port on all nodes, until the context ends.
func announce(ctx context.Context, api kubernetes.Interface, port int32) {
	patch := fmt.Appendf(nil, `{"status":{"addresses":[{"type":%q,"address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`,
		corev1.NodeInternalIP, Address, port)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		// Resource version 0 starts with the existing nodes from the watch cache.
		nodes, err := api.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return
		}
		defer nodes.Stop()
		for event := range nodes.ResultChan() {
			node, known := event.Object.(*corev1.Node)
			if !known || event.Type == watch.Deleted || announced(node.Status, port) {
				continue
			}
			if _, err := api.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				return
			}
		}
	}, announcePeriod)
}

func announced(status corev1.NodeStatus, port int32) bool {
	if status.DaemonEndpoints.KubeletEndpoint.Port != port {
		return false
	}
	for _, a := range status.Addresses {
		if a.Type == corev1.NodeInternalIP && a.Address == Address {
			return true
		}
	}
	return false
}
