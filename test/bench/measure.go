package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// settle is the idle time between two measurements.
const settle = 3 * time.Second

// measure runs one workload: single changes on the idle system, then each change of all templates at once, then the
// floor. If it fails it returns the measurements so far.
func (b *bench) measure(ctx context.Context, w workload) (Workload, error) {
	out := Workload{Name: w.Name, Changes: map[change]*Change{}}
	for _, c := range changes() {
		out.Changes[c] = &Change{}
	}
	if err := b.prepare(ctx, w); err != nil {
		return out, err
	}
	if err := b.singles(ctx, w, out); err != nil {
		return out, err
	}
	for _, c := range changes() {
		load, err := b.load(ctx, w, c)
		if err != nil {
			return out, err
		}
		out.Changes[c].Load = load
	}
	if err := b.cleanUp(ctx, w); err != nil {
		return out, err
	}
	if b.bare.client == nil {
		return out, nil
	}
	floor, err := b.measureFloor(ctx, w)
	if err != nil {
		return out, err
	}
	out.Floor = floor
	return out, b.removeFloor(ctx, w)
}

// prepare creates the namespaces and the policy.
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

// hasApp excludes objects that Kubernetes puts into every namespace.
func hasApp() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpExists},
	}}
}

// singles creates, updates and deletes templates one at a time, each after a pause.
func (b *bench) singles(ctx context.Context, w workload, out Workload) error {
	if b.idle == 0 {
		return nil
	}
	for _, c := range changes() {
		progress("%s: %s of %d single templates, %s of quiet before each", w.Name, c, b.idle, b.quiet)
		t := newTracker(c, len(b.members))
		stop, err := b.observe(ctx, w, t, true)
		if err != nil {
			return err
		}
		err = b.oneByOne(ctx, w, t)
		stop()
		if err != nil {
			return err
		}
		out.Changes[c].Single = t.latencies()
	}
	return nil
}

func (b *bench) oneByOne(ctx context.Context, w workload, t *tracker) error {
	for i := range b.idle {
		if err := pause(ctx, b.quiet); err != nil {
			return err
		}
		name := fmt.Sprintf("single-%04d", i)
		m, err := b.change(ctx, w, t, name)
		if err != nil {
			return err
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return fmt.Errorf("%s of %q is not done after a minute: %s", t.change, name, t.lacking())
		}
	}
	return nil
}

// change creates, updates or deletes one template.
func (b *bench) change(ctx context.Context, w workload, t *tracker, name string) (*mark, error) {
	obj := w.object(w.namespace(), name)
	write := b.hub.client.Create
	before := ""
	switch t.change {
	case creation:
	case update:
		if err := b.hub.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return nil, fmt.Errorf("reading template %q: %w", name, err)
		}
		before = obj.GetResourceVersion()
		w.change(obj)
		write = func(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
			return b.hub.client.Update(ctx, obj)
		}
	case removal:
		write = func(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
			return b.hub.client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
	}
	m := t.begin(name, before)
	if err := write(ctx, obj); err != nil {
		return nil, fmt.Errorf("%s of template %q: %w", t.change, name, err)
	}
	t.seen(name, written, 0)
	return m, nil
}

// load creates, updates or deletes all templates at once.
func (b *bench) load(ctx context.Context, w workload, c change) (Load, error) {
	if err := pause(ctx, settle); err != nil {
		return Load{}, err
	}
	progress("%s: %s of %d templates in %d clusters, %d writers", w.Name, c, b.n, len(b.members), b.writers)
	t := newTracker(c, len(b.members))
	stop, err := b.observe(ctx, w, t, false)
	if err != nil {
		return Load{}, err
	}
	defer stop()
	meter, err := b.startMeter(ctx, b.hub, fmt.Sprintf("%s-%s", w.Name, c))
	if err != nil {
		return Load{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	began := time.Now()
	err = b.write(ctx, func(ctx context.Context, i int) error {
		_, err := b.change(ctx, w, t, fmt.Sprintf("load-%05d", i))
		return err
	})
	if err != nil {
		return Load{}, err
	}
	out := Load{WritersSeconds: time.Since(began).Seconds()}
	stopProgress := b.showProgress(ctx, w, t)
	out.Completed = t.await(ctx, b.n, b.progressTimeout)
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
	progress("%s: %s done in %.1f s", w.Name, c, out.TotalSeconds)
	return out, nil
}

// write calls a function for each template, from the configured number of writers.
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

// cleanUp removes what prepare created.
func (b *bench) cleanUp(ctx context.Context, w workload) error {
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: "all"}}
	if err := client.IgnoreNotFound(b.hub.client.Delete(ctx, policy)); err != nil {
		return fmt.Errorf("deleting the policy: %w", err)
	}
	for _, a := range append([]api{b.hub}, b.members...) {
		if err := a.dropNamespace(ctx, w.namespace()); err != nil {
			return err
		}
	}
	return nil
}

// list returns the objects of one kind that the bench created.
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

// deleteAll deletes the objects of one kind that the bench created, one by one: a collection of a thousand would exceed
// the API server's request timeout.
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

// pause waits, so that the next measurement is not affected by the previous one; there is no condition to poll for.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
