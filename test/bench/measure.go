package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// settle is how long the system is left alone between two measurements.
const settle = 3 * time.Second

// measure runs one workload: single templates on the idle system, then all at once, then
// the floor.
func (b *bench) measure(ctx context.Context, w workload) (Workload, error) {
	out := Workload{Name: w.Name}
	if err := b.prepare(ctx, w); err != nil {
		return out, err
	}
	idle, err := b.single(ctx, w)
	if err != nil {
		return out, err
	}
	out.Idle = idle
	if err := b.clear(ctx, w); err != nil {
		return out, err
	}
	if out.Load, err = b.load(ctx, w); err != nil {
		return out, err
	}
	progress("%s: removing the templates", w.Name)
	if out.RemovalSeconds, err = b.remove(ctx, w); err != nil {
		return out, err
	}
	if b.bare.client == nil {
		return out, nil
	}
	out.Floor, err = b.measureFloor(ctx, w)
	return out, err
}

// prepare makes the namespaces and the policy.
func (b *bench) prepare(ctx context.Context, w workload) error {
	for _, a := range append([]api{b.hub}, b.members...) {
		if err := a.ensureNamespace(ctx, w.namespace()); err != nil {
			return err
		}
	}
	policy := &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: "all"},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: w.apiVersion, Kind: w.kind, LabelSelector: hasApp()}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: b.clusterNames()}},
		},
	}
	if err := client.IgnoreAlreadyExists(b.hub.client.Create(ctx, policy)); err != nil {
		return fmt.Errorf("making the policy: %w", err)
	}
	return nil
}

// hasApp leaves out what Kubernetes itself puts into every namespace.
func hasApp() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpExists},
	}}
}

// single brings templates out one at a time.
func (b *bench) single(ctx context.Context, w workload) (Latencies, error) {
	progress("%s: %d single templates on the idle system", w.Name, b.idle)
	t := newTracker(len(b.members))
	stop, err := b.observe(ctx, w, t)
	if err != nil {
		return Latencies{}, err
	}
	defer stop()
	for i := range b.idle {
		name := fmt.Sprintf("single-%04d", i)
		m := t.create(name)
		if err := b.hub.client.Create(ctx, w.object(w.namespace(), name)); err != nil {
			return Latencies{}, fmt.Errorf("creating template %q: %w", name, err)
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return Latencies{}, ctx.Err()
		case <-time.After(time.Minute):
			return Latencies{}, fmt.Errorf("template %q is not done after a minute", name)
		}
		// Events and the like shall not meet the next one.
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return Latencies{}, err
		}
	}
	return t.latencies(), nil
}

// load brings out all templates at once.
func (b *bench) load(ctx context.Context, w workload) (Load, error) {
	if err := pause(ctx, settle); err != nil {
		return Load{}, err
	}
	progress("%s: %d templates to %d clusters, %d writers", w.Name, b.n, len(b.members), b.writers)
	t := newTracker(len(b.members))
	stop, err := b.observe(ctx, w, t)
	if err != nil {
		return Load{}, err
	}
	defer stop()
	meter, err := b.startMeter(ctx, b.hub)
	if err != nil {
		return Load{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	began := time.Now()
	err = b.write(ctx, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("load-%05d", i)
		t.create(name)
		return b.hub.client.Create(ctx, w.object(w.namespace(), name))
	})
	if err != nil {
		return Load{}, fmt.Errorf("creating templates: %w", err)
	}
	out := Load{WritersSeconds: time.Since(began).Seconds()}
	stopProgress := b.showProgress(ctx, w, t)
	out.Completed = t.await(ctx, b.n, b.patience)
	out.TotalSeconds = time.Since(began).Seconds()
	stopProgress()
	// Events and the last status writes are part of the cost.
	if err := pause(ctx, settle); err != nil {
		return Load{}, err
	}
	out.Latencies = t.latencies()
	if out.Usage, err = meter.stop(context.WithoutCancel(ctx)); err != nil {
		return Load{}, err
	}
	if out.Completed < b.n {
		return out, fmt.Errorf("only %d of %d templates were done after %.0f s: %s", out.Completed, b.n, out.TotalSeconds, t.lacking())
	}
	progress("%s: done in %.1f s", w.Name, out.TotalSeconds)
	return out, nil
}

// write calls a function for each template, from as many writers as there shall be.
func (b *bench) write(ctx context.Context, one func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.writers)
	for i := range b.n {
		g.Go(func() error { return one(ctx, i) })
	}
	return g.Wait()
}

func (b *bench) showProgress(ctx context.Context, w workload, t *tracker) func() {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				t.mu.Lock()
				done := t.done
				t.mu.Unlock()
				progress("%s: %d of %d done", w.Name, done, b.n)
			}
		}
	}()
	return cancel
}

// remove deletes the templates and returns how long it took until no member had one.
func (b *bench) remove(ctx context.Context, w workload) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	began := time.Now()
	if err := b.clear(ctx, w); err != nil {
		return 0, err
	}
	took := time.Since(began).Seconds()
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: "all"}}
	if err := client.IgnoreNotFound(b.hub.client.Delete(ctx, policy)); err != nil {
		return 0, fmt.Errorf("deleting the policy: %w", err)
	}
	for _, a := range append([]api{b.hub}, b.members...) {
		if err := a.dropNamespace(ctx, w.namespace()); err != nil {
			return 0, err
		}
	}
	return took, nil
}

// clear deletes the templates and waits until no member has one.
func (b *bench) clear(ctx context.Context, w workload) error {
	if err := b.deleteAll(ctx, b.hub, w.object("", ""), w.namespace()); err != nil {
		return err
	}
	for _, a := range append([]api{b.hub}, b.members...) {
		err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			list, err := a.list(ctx, w.object("", ""), w.namespace())
			return err == nil && len(list) == 0, err
		})
		if err != nil {
			return fmt.Errorf("waiting for %q to be empty: %w", a.name, err)
		}
	}
	return nil
}

// list returns what the bench has made of one kind.
func (a api) list(ctx context.Context, kind client.Object, namespace string) ([]metav1.PartialObjectMetadata, error) {
	gvk, err := a.client.GroupVersionKindFor(kind)
	if err != nil {
		return nil, fmt.Errorf("listing in %q: %w", a.name, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	if err := a.client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"app"}); err != nil {
		return nil, fmt.Errorf("listing %s in %q: %w", gvk.Kind, a.name, err)
	}
	return list.Items, nil
}

// deleteAll deletes what the bench has made of one kind, one by one: a thousand in one
// request take longer than an API server lets a request take.
func (b *bench) deleteAll(ctx context.Context, a api, kind client.Object, namespace string) error {
	items, err := a.list(ctx, kind, namespace)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.writers)
	for i := range items {
		g.Go(func() error {
			if err := client.IgnoreNotFound(a.client.Delete(ctx, &items[i], client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
				return fmt.Errorf("deleting %q in %q: %w", items[i].Name, a.name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// pause leaves everything alone for a time: what is measured next is not to meet what came
// before, and quiet is nothing that could be waited for.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
