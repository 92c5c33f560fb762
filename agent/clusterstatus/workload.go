package clusterstatus

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	"fairlead.dev/agent/clusterstatus/pods"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// pageSize is how many nodes or pods are read at a time.
const pageSize = 500

// askAgain is after how long an agent that may not read ResourceQuotas looks whether it may.
const askAgain = 10 * time.Minute

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
}

func newWorkload(memberClient client.WithWatch, unready *pods.Store, c clock.Clock) *workload {
	return &workload{
		memberClient: memberClient, unready: unready, clock: c, changed: true,
		nodes: facts.NewNodes(), pods: facts.NewPods(), quotas: facts.NewQuotas(),
		nodesHeard: make(chan struct{}), podsHeard: make(chan struct{}), quotasHeard: make(chan struct{}),
	}
}

// Start watches until the context ends.
func (w *workload) Start(ctx context.Context) error {
	nodes := &tally{
		workload: w, list: w.listNodes, of: &corev1.NodeList{}, heard: w.nodesHeard,
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
		workload: w, list: w.listPods, of: &corev1.PodList{}, heard: w.podsHeard,
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
		workload: w, list: w.listQuotas, of: &corev1.ResourceQuotaList{}, heard: w.quotasHeard,
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

// listQuotas reads all ResourceQuotas, and returns what takes them over.
func (w *workload) listQuotas(ctx context.Context) (version string, take func(), err error) {
	fresh := facts.NewQuotas()
	version, err = pages(ctx, w.memberClient, func() *corev1.ResourceQuotaList { return &corev1.ResourceQuotaList{} }, func(list *corev1.ResourceQuotaList) {
		for i := range list.Items {
			fresh.Put(&list.Items[i])
		}
	})
	return version, func() { w.quotas = fresh }, err
}

// mayReadQuotas waits until the agent may read ResourceQuotas: the rights of one that was
// installed by an older version do not have them, and it does without.
func (w *workload) mayReadQuotas(ctx context.Context) bool {
	for told := false; ; told = true {
		err := w.memberClient.List(ctx, &corev1.ResourceQuotaList{}, client.Limit(1))
		w.mu.Lock()
		w.noRight = apierrors.IsForbidden(err)
		w.mu.Unlock()
		if !apierrors.IsForbidden(err) {
			return ctx.Err() == nil // whatever else is wrong the watch deals with
		}
		if !told {
			ctrl.LoggerFrom(ctx).Info("Not reporting what ResourceQuotas leave free, which this agent may not read", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.clock.After(askAgain):
		}
	}
}

// Quotas returns what the ResourceQuotas of the namespaces leave free that content returns;
// not known before they were read. It does not ask for the namespaces if there are no quotas.
// An agent that lost the right to read them takes back what it reported while it had it: nobody
// would open a namespace again that was full then.
func (w *workload) Quotas(content func() (sets.Set[string], error)) (report []clusterv1alpha1.NamespaceQuota, known bool) {
	w.mu.Lock()
	there, noRight := w.quotas.Any(), w.noRight
	w.mu.Unlock()
	if noRight {
		return nil, true
	}
	select {
	case <-w.quotasHeard:
	default:
		return nil, false
	}
	if !there {
		return nil, true
	}
	namespaces, err := content() // which may take a moment, and nobody else waits for it
	if err != nil {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quotas.Report(namespaces), true
}

// pages reads a list page by page, and returns its version.
func pages[L client.ObjectList](ctx context.Context, reader client.Reader, empty func() L, use func(L)) (string, error) {
	next := ""
	for {
		list := empty()
		if err := reader.List(ctx, list, &client.ListOptions{Limit: pageSize, Continue: next}); err != nil {
			return "", fmt.Errorf("listing nodes, pods and quotas of the member: %w", err)
		}
		use(list)
		if next = list.GetContinue(); next == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// Wait gives the watches a moment to begin, and says whether they have.
func (w *workload) Wait(ctx context.Context, c clock.Clock, patience time.Duration) bool {
	over := c.After(patience)
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

// Sums adds up.
func (w *workload) Sums(models []clusterv1alpha1.ResourceModel) (*clusterv1alpha1.NodeSummary, *clusterv1alpha1.ResourceSummary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes.Summary(), facts.Resources(w.nodes, w.pods, models)
}

// tally is what a reflector fills with objects of one kind. It lists as well: page by page,
// and the list that it hands over is empty, since what was in it has been taken already.
type tally struct {
	workload *workload
	of       client.ObjectList
	list     func(context.Context) (version string, take func(), err error)
	put      func(obj any) bool
	drop     func(obj any)
	heard    chan struct{}
	once     sync.Once

	// take takes over what was listed last.
	take func()
}

// ListWithContext implements toolscache.ListerWatcherWithContext.
func (t *tally) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	version, take, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	t.take = take
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (t *tally) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return t.workload.memberClient.Watch(ctx, t.of, &client.ListOptions{Raw: &options})
}

// List implements toolscache.ListerWatcher.
func (t *tally) List(options metav1.ListOptions) (runtime.Object, error) {
	return t.ListWithContext(context.Background(), options) //nolint:forbidigo // The interface has none: whoever has one calls the other.
}

// Watch implements toolscache.ListerWatcher.
func (t *tally) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return t.WatchWithContext(context.Background(), options) //nolint:forbidigo // The interface has none: whoever has one calls the other.
}

// IsWatchListSemanticsUnSupported has the reflector list, not stream all into a store of
// whole objects.
func (*tally) IsWatchListSemanticsUnSupported() bool { return true }

// Add implements toolscache.ReflectorStore.
func (t *tally) Add(obj any) error { return t.Update(obj) }

// Update implements toolscache.ReflectorStore.
func (t *tally) Update(obj any) error {
	t.workload.mu.Lock()
	defer t.workload.mu.Unlock()
	if t.put(obj) {
		t.workload.changed = true
	}
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (t *tally) Delete(obj any) error {
	t.workload.mu.Lock()
	defer t.workload.mu.Unlock()
	t.drop(obj)
	t.workload.changed = true
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (t *tally) Replace([]any, string) error {
	t.workload.mu.Lock()
	defer t.workload.mu.Unlock()
	t.take()
	t.workload.changed = true
	t.once.Do(func() { close(t.heard) })
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (*tally) Resync() error { return nil }
