package clusterstatus

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is the number of nodes or pods in a page of a list.
const pageSize = 500

// pages reads a list page by page and returns its resourceVersion.
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

// tally is the store and the ListerWatcher of a reflector for objects of one kind. It lists page by page and hands
// the reflector an empty list, since it has processed the items already.
type tally struct {
	workload *workload
	of       client.ObjectList
	list     func(context.Context) (version string, take func(), err error)
	put      func(obj any) bool
	drop     func(obj any)
	// forget is called when the objects can no longer be read; it may be nil.
	forget func()
	heard  chan struct{}
	once   sync.Once
	// unread says why the objects are no longer known.
	unread *unread

	// take replaces the known objects by those of the last list.
	take func()
}

// ListWithContext implements toolscache.ListerWatcherWithContext.
func (t *tally) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	version, take, err := t.list(ctx)
	if err != nil {
		t.failed(ctx, err)
		return nil, err
	}
	t.take = take
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext.
func (t *tally) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	began, err := t.workload.memberClient.Watch(ctx, t.of, &client.ListOptions{Raw: &options})
	if err != nil {
		t.failed(ctx, err)
		return nil, err //nolint:wrapcheck // The reflector judges it.
	}
	t.workload.mu.Lock()
	defer t.workload.mu.Unlock()
	if t.unread.reason != "" && t.forget != nil {
		began.Stop()
		return nil, apierrors.NewResourceExpired("what was known was forgotten: all is listed anew")
	}
	t.read()
	return began, nil
}

// failed records that the member refused or failed to list or watch these objects.
func (t *tally) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.workload.mu.Lock()
	defer t.workload.mu.Unlock()
	if t.unread.Note(err, t.workload.clock.Now()) {
		t.workload.changed = true
		if t.forget != nil {
			t.forget()
		}
	}
}

// read records that the objects are known.
func (t *tally) read() {
	if t.unread.reason != "" {
		t.workload.changed = true
	}
	t.unread.Over()
}

// List implements toolscache.ListerWatcher.
func (t *tally) List(options metav1.ListOptions) (runtime.Object, error) {
	return t.ListWithContext(context.Background(), options) //nolint:forbidigo // The interface has none: whoever has one calls the other.
}

// Watch implements toolscache.ListerWatcher.
func (t *tally) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return t.WatchWithContext(context.Background(), options) //nolint:forbidigo // The interface has none: whoever has one calls the other.
}

// IsWatchListSemanticsUnSupported makes the reflector list rather than stream all objects into a store of whole
// objects.
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
	t.read()
	t.workload.changed = true
	t.once.Do(func() { close(t.heard) })
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (*tally) Resync() error { return nil }
