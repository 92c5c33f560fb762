package watches_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// member serves lists and watches to an informer. Use it in a synctest bubble.
type member struct {
	mu      sync.Mutex
	refuses error
	asked   atomic.Int32
	began   *watch.FakeWatcher
}

func (m *member) answer(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = err
}

func (m *member) lists() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.asked.Add(1)
			if m.refuses != nil {
				return nil, m.refuses
			}
			return nil, errors.New("all is streamed")
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.refuses != nil {
				return nil, m.refuses
			}
			m.began = watch.NewFake()
			return m.began, nil
		},
	}
}

// letsIn serves requests from now on, and returns once the informer watches again.
func (m *member) letsIn() {
	m.mu.Lock()
	before := m.began
	m.refuses = nil
	m.mu.Unlock()
	for {
		time.Sleep(time.Second)
		synctest.Wait()
		m.mu.Lock()
		now := m.began
		m.mu.Unlock()
		if now != before {
			return
		}
	}
}

// shown sends the bookmark that ends the initial objects.
func (m *member) shown() { m.shownAt("7") }

// shownAt does so at a resourceVersion.
func (m *member) shownAt(version string) {
	m.mu.Lock()
	began := m.began
	m.mu.Unlock()
	end := &unstructured.Unstructured{}
	end.SetGroupVersionKind(gauges)
	end.SetResourceVersion(version)
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	began.Action(watch.Bookmark, end)
}
