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

// workload adds up the nodes and pods of the member, and follows its ResourceQuotas. A member
// may have thousands of pods, and an agent little memory: they are read page by page, and of
// each only what the sums take is kept. To list them again every time would cost more than to
// watch them.
type workload struct {
	memberClient client.WithWatch
	// unready has why pods are not ready.
	unready *pods.Store
	clock   clock.Clock

	mu     sync.Mutex
	nodes  *facts.Nodes
	pods   *facts.Pods
	quotas *facts.Quotas
	// changed says that there is something new since it was last summed up.
	changed bool

	nodesHeard, podsHeard, quotasHeard chan struct{}
	// noRight says that the agent may not read ResourceQuotas.
	noRight bool
	// nodesUnread, podsUnread and quotasUnread say why they are not known any more.
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
			return false // the sums stay as they are
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

// listNodes reads all nodes, and returns what takes them over.
func (w *workload) listNodes(ctx context.Context) (version string, take func(), err error) {
	fresh := facts.NewNodes()
	version, err = pages(ctx, w.memberClient, func() *corev1.NodeList { return &corev1.NodeList{} }, func(list *corev1.NodeList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
		}
	})
	return version, func() { w.nodes = fresh }, err
}

// listPods reads all pods, and returns what takes them over.
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

// Wait gives the watches a moment to begin, and says whether they have.
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

// Changed says whether there is something new since the last call.
func (w *workload) Changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.changed
	w.changed = false
	return changed
}

// Again has the next call of Changed say yes: what was summed up did not arrive.
func (w *workload) Again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed = true
}

// Unread says why nodes or pods are not known any more, for a condition; empty if they are, or were never.
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

// Unready notes that the member says that it is not ready: what fails then says nothing of nodes and pods.
func (w *workload) Unready() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range []*unread{&w.nodesUnread, &w.podsUnread, &w.quotasUnread} {
		u.Excuse(w.clock.Now())
	}
}

// Sums adds up what is known: what the pods ask for, and of what, is none if either is not.
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

// isKnown says whether objects were read, and still are.
func isKnown(heard <-chan struct{}, u *unread) bool {
	select {
	case <-heard:
		return u.reason == ""
	default:
		return false
	}
}
