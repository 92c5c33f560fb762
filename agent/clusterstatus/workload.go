package clusterstatus

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	"fairlead.dev/agent/clusterstatus/pods"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// workload adds up the member's nodes and pods, and follows its ResourceQuotas. A member may have thousands of pods
// and an agent little memory: objects are listed page by page, and of each only the part that the sums need is kept.
// Watching them is cheaper than listing them again for each report.
type workload struct {
	memberClient client.WithWatch
	// unready keeps why pods are not ready.
	unready *pods.Store
	clock   clock.Clock

	mu     sync.Mutex
	nodes  *facts.Nodes
	pods   *facts.Pods
	quotas *facts.Quotas
	// changed says that something changed since the last sums.
	changed bool

	nodesHeard, podsHeard, quotasHeard chan struct{}
	// noRight says that the agent may not read ResourceQuotas.
	noRight bool
	// nodesUnread, podsUnread and quotasUnread say why the objects are no longer known.
	nodesUnread, podsUnread, quotasUnread unread
}

func newWorkload(memberClient client.WithWatch, unready *pods.Store, c clock.Clock) *workload {
	return &workload{
		memberClient: memberClient, unready: unready, clock: c, changed: true,
		nodes: facts.NewNodes(), pods: facts.NewPods(), quotas: facts.NewQuotas(),
		nodesHeard: make(chan struct{}), podsHeard: make(chan struct{}), quotasHeard: make(chan struct{}),
		nodesUnread: unread{what: "nodes"}, podsUnread: unread{what: "pods"}, quotasUnread: unread{what: "resourcequotas"},
	}
}

// Start watches until the context ends.
func (w *workload) Start(ctx context.Context) error {
	nodes := &tally{
		workload: w, list: w.listNodes, of: &corev1.NodeList{}, heard: w.nodesHeard, unread: &w.nodesUnread,
		put: func(obj any) bool {
			node, ok := obj.(*corev1.Node)
			return ok && w.nodes.Put(node)
		},
		drop: func(obj any) {
			if node, ok := obj.(*corev1.Node); ok {
				w.nodes.Drop(node.Name)
			}
		},
	}
	all := &tally{
		workload: w, list: w.listPods, of: &corev1.PodList{}, heard: w.podsHeard, unread: &w.podsUnread,
		forget: func() { w.unready.Replace(pods.NewList()) },
		put: func(obj any) bool {
			pod, ok := obj.(*corev1.Pod)
			if !ok {
				return false
			}
			w.unready.Put(pod)
			return w.pods.Put(pod)
		},
		drop: func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok {
				w.unready.Drop(pod)
				w.pods.Drop(pod)
			}
		},
	}
	quotas := &tally{
		workload: w, list: w.listQuotas, of: &corev1.ResourceQuotaList{}, heard: w.quotasHeard, unread: &w.quotasUnread,
		put: func(obj any) bool {
			if quota, ok := obj.(*corev1.ResourceQuota); ok {
				w.quotas.Put(quota)
			}
			return false // the sums do not depend on quotas
		},
		drop: func(obj any) {
			if quota, ok := obj.(*corev1.ResourceQuota); ok {
				w.quotas.Drop(quota)
			}
		},
	}
	var watches sync.WaitGroup
	watches.Go(func() {
		toolscache.NewReflectorWithOptions(nodes, &corev1.Node{}, nodes, toolscache.ReflectorOptions{Name: "nodes"}).RunWithContext(ctx)
	})
	watches.Go(func() {
		toolscache.NewReflectorWithOptions(all, &corev1.Pod{}, all, toolscache.ReflectorOptions{Name: "pods"}).RunWithContext(ctx)
	})
	watches.Go(func() {
		if w.mayReadQuotas(ctx) {
			toolscache.NewReflectorWithOptions(quotas, &corev1.ResourceQuota{}, quotas, toolscache.ReflectorOptions{Name: "resourcequotas"}).RunWithContext(ctx)
		}
	})
	watches.Wait()
	return nil
}

// listNodes lists all nodes, and returns a function that replaces the known ones by them.
func (w *workload) listNodes(ctx context.Context) (version string, take func(), err error) {
	fresh := facts.NewNodes()
	version, err = pages(ctx, w.memberClient, func() *corev1.NodeList { return &corev1.NodeList{} }, func(list *corev1.NodeList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
		}
	})
	return version, func() { w.nodes = fresh }, err
}

// listPods lists all pods, and returns a function that replaces the known ones by them.
func (w *workload) listPods(ctx context.Context) (version string, take func(), err error) {
	fresh, unready := facts.NewPods(), pods.NewList()
	version, err = pages(ctx, w.memberClient, func() *corev1.PodList { return &corev1.PodList{} }, func(list *corev1.PodList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
			unready.Put(&list.Items[i])
		}
	})
	return version, func() {
		w.pods = fresh
		w.unready.Replace(unready)
	}, err
}

// Wait waits for the first lists, up to a timeout, and returns whether they arrived.
func (w *workload) Wait(ctx context.Context, c clock.Clock, timeout time.Duration) bool {
	over := c.After(timeout)
	for _, heard := range []chan struct{}{w.nodesHeard, w.podsHeard} {
		select {
		case <-heard:
			continue
		default:
		}
		select {
		case <-heard:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Changed returns whether something changed since the last call.
func (w *workload) Changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = false
	return changed
}

// Again makes the next call of Changed return true, since the last sums did not reach the hub.
func (w *workload) Again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed = true
}

// Unread returns why nodes or pods are no longer known, for a condition; empty if they are known, or never were.
func (w *workload) Unread() (reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range []*unread{&w.nodesUnread, &w.podsUnread} {
		if u.reason == "" {
			continue
		}
		if reason != "" {
			return reason, message + "; " + u.message
		}
		reason, message = u.reason, u.message
	}
	return reason, message
}

// Unready records that the member is not ready: failures meanwhile do not count against nodes and pods.
func (w *workload) Unready() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range []*unread{&w.nodesUnread, &w.podsUnread, &w.quotasUnread} {
		u.Excuse(w.clock.Now())
	}
}

// Sums adds up what is known. There are no resource sums unless both nodes and pods are known.
func (w *workload) Sums(models []clusterv1alpha1.ResourceModel) (*clusterv1alpha1.NodeSummary, *clusterv1alpha1.ResourceSummary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes *clusterv1alpha1.NodeSummary
	if isKnown(w.nodesHeard, &w.nodesUnread) {
		nodes = w.nodes.Summary()
	}
	if nodes == nil || !isKnown(w.podsHeard, &w.podsUnread) {
		return nodes, nil
	}
	return nodes, facts.Resources(w.nodes, w.pods, models)
}

// isKnown returns whether objects were read and are still readable.
func isKnown(heard <-chan struct{}, u *unread) bool {
	select {
	case <-heard:
		return u.reason == ""
	default:
		return false
	}
}
