package monitoring

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/hub/people/view/clusters"
)

// watch watches bindings and leases until stop is called.
func (m *Monitor) watch(ctx context.Context, c cache.Cache) (stop func() error, err error) {
	var ends []func() error
	for _, kind := range kinds() {
		informer, err := c.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
		handle, err := informer.AddEventHandler(m.handler())
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
		ends = append(ends, func() error { return informer.RemoveEventHandler(handle) })
	}
	return func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}, nil
}

func (m *Monitor) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { m.observe(obj, initial) },
		UpdateFunc: func(_, obj any) { m.observe(obj, false) },
		DeleteFunc: m.gone,
	}
}

// observe records the new state of an object, which it does not change.
func (m *Monitor) observe(obj any, initial bool) {
	now := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch o := obj.(type) {
	case kube.Binding:
		key, delivery := client.ObjectKeyFromObject(o), deliveryOf(o)
		if initial {
			m.changes.Start(key, delivery, now)
		} else if took, done := m.changes.Observe(key, delivery, now); done {
			m.propagation.Observe(took.Seconds())
		}
	case *coordinationv1.Lease:
		if o.Namespace != contract.ClusterNamespace || o.Spec.RenewTime == nil {
			return
		}
		if !m.heard[o.Name].renewed.Equal(o.Spec.RenewTime.Time) {
			m.heard[o.Name] = heartbeat{renewed: o.Spec.RenewTime.Time, seen: now, rarely: clusters.RenewsRarely(o)}
		}
	}
}

func (m *Monitor) gone(obj any) {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch o := obj.(type) {
	case kube.Binding:
		m.changes.Forget(client.ObjectKeyFromObject(o))
	case *coordinationv1.Lease:
		delete(m.heard, o.Name)
	}
}

// deliveryOf returns the delivery state of a binding.
func deliveryOf(b kube.Binding) series.Delivery {
	applied := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingFullyApplied)
	return series.Delivery{
		Generation: b.GetGeneration(),
		Applied:    applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == b.GetGeneration(),
	}
}
