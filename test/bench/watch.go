package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observe watches the members and the hub until the returned function is called, and
// tells the tracker what it sees. It returns when all watches are open.
func (b *bench) observe(ctx context.Context, w workload, t *tracker) (func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	stop := func() {
		cancel()
		watches.Wait()
	}
	for i, member := range b.members {
		see := func(obj client.Object) { t.inMember(obj.GetName(), i, w.settled(obj)) }
		if err := member.follow(ctx, &watches, w.list(), w.namespace(), see); err != nil {
			stop()
			return nil, err
		}
	}
	see := func(obj client.Object) {
		if name := w.reported(obj, len(b.members)); name != "" {
			t.onHub(name)
		}
	}
	if err := b.hub.follow(ctx, &watches, w.reportList(), w.namespace(), see); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// follow watches the objects of a namespace until the context ends. A watch that breaks is
// opened again and begins with all that is there.
func (a api) follow(ctx context.Context, group *sync.WaitGroup, list client.ObjectList, namespace string, see func(client.Object)) error {
	open := func() (watch.Interface, error) {
		w, err := a.client.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			return nil, fmt.Errorf("watching %T in %q: %w", list, a.name, err)
		}
		return w, nil
	}
	current, err := open()
	if err != nil {
		return err
	}
	group.Go(func() {
		for {
			for event := range current.ResultChan() {
				if obj, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted {
					see(obj)
				}
			}
			current.Stop()
			for {
				if ctx.Err() != nil {
					return
				}
				if current, err = open(); err == nil {
					break
				}
				progress("%v", err)
				_ = pause(ctx, time.Second) // the context is looked at next
			}
		}
	})
	return nil
}
