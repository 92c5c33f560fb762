package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// observe watches the members and the hub until the returned function is called, and passes the steps to the tracker.
// With eachStep it watches the intermediate steps as well, which costs the hub a watch of all Works. It returns when
// all watches are open.
func (b *bench) observe(ctx context.Context, w workload, t *tracker, eachStep bool) (func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	stop := func() {
		cancel()
		watches.Wait()
	}
	follow := func(a api, list client.ObjectList, namespace string, see func(client.Object, bool)) error {
		err := a.follow(ctx, &watches, list, namespace, see)
		if err != nil {
			stop()
		}
		return err
	}
	for i, member := range b.members {
		if err := follow(member, w.list(), w.namespace(), func(obj client.Object, gone bool) { t.inMember(w, obj, gone, i) }); err != nil {
			return nil, err
		}
	}
	onBinding := func(obj client.Object, gone bool) {
		if binding, ok := obj.(*workv1alpha2.ResourceBinding); ok {
			t.onBinding(w, binding, gone)
		}
	}
	if err := follow(b.hub, &workv1alpha2.ResourceBindingList{}, w.namespace(), onBinding); err != nil {
		return nil, err
	}
	if w.deployments() {
		onTemplate := func(obj client.Object, gone bool) {
			if !gone && t.change != removal && w.versionOf(obj) == t.change && w.shows(obj, len(b.members)) {
				t.seen(obj.GetName(), shown, 0)
			}
		}
		if err := follow(b.hub, w.list(), w.namespace(), onTemplate); err != nil {
			return nil, err
		}
	}
	if !eachStep {
		return stop, nil
	}
	onWork := func(obj client.Object, gone bool) {
		work, ok := obj.(*workv1alpha1.Work)
		if member := slices.Index(b.clusterNames(), clusterOf(obj)); ok && member >= 0 {
			t.onWork(w, work, gone, member)
		}
	}
	return stop, follow(b.hub, &workv1alpha1.WorkList{}, "", onWork)
}

func clusterOf(work client.Object) string {
	cluster, _ := contract.ClusterOf(contract.DefaultExecutionNamespacePrefix, work.GetNamespace())
	return cluster
}

// inMember handles the object of a template in a member.
func (t *tracker) inMember(w workload, obj client.Object, gone bool, member int) {
	switch {
	case gone && t.change == removal:
		t.seen(obj.GetName(), arrived, member)
	case gone, w.versionOf(obj) != t.change:
	default:
		t.seen(obj.GetName(), arrived, member)
		if w.settled(obj) {
			t.seen(obj.GetName(), settled, member)
		}
	}
}

// onBinding handles the binding of a template.
func (t *tracker) onBinding(w workload, b *workv1alpha2.ResourceBinding, gone bool) {
	name := b.Spec.Resource.Name
	before, ok := t.before(name)
	switch {
	case !ok:
	case t.change == removal:
		if gone || !b.DeletionTimestamp.IsZero() {
			t.seen(name, bound, 0)
		}
		if gone {
			t.seen(name, shown, 0)
		}
	case gone, before != "" && !contract.Older(before, b.Spec.Resource.ResourceVersion):
	default:
		t.seen(name, bound, 0)
		if len(b.Spec.Clusters) == t.members {
			t.seen(name, placed, 0)
		}
		if !w.deployments() && fullyApplied(b, t.members) {
			t.seen(name, shown, 0)
		}
	}
}

// onWork handles the Work of a template for a member.
func (t *tracker) onWork(w workload, work *workv1alpha1.Work, gone bool, member int) {
	name, version := w.manifestOf(work)
	switch {
	case t.change == removal:
		if gone || !work.DeletionTimestamp.IsZero() {
			t.seen(name, dispatched, member)
		}
	case gone, version != t.change:
	default:
		t.seen(name, dispatched, member)
		if w.reported(work) {
			t.seen(name, reported, member)
		}
	}
}

// follow watches the objects of a namespace, or of all, until the context ends. A watch that breaks is reopened, and
// starts with the existing objects.
func (a api) follow(ctx context.Context, group *sync.WaitGroup, list client.ObjectList, namespace string, see func(obj client.Object, gone bool)) error {
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
				if obj, ok := event.Object.(client.Object); ok {
					see(obj, event.Type == watch.Deleted)
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
				_ = pause(ctx, time.Second) // the context is checked next
			}
		}
	})
	return nil
}
