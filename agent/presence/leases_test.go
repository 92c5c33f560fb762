package presence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leases is a hub that takes some annotations on leases, and refuses others.
type leases struct {
	client.Client

	mu       sync.Mutex // guards the fields below while a renewer runs
	takes    []string
	got      []map[string]string
	answered map[string]string
	updates  []*coordinationv1.Lease
	version  int
	spec     coordinationv1.LeaseSpec
	// busy makes writes time out; lands says whether they take effect nevertheless.
	busy  bool
	lands bool
	// reads are the resourceVersions at which the lease was read, and unread is the error of reads.
	reads  []string
	unread error
}

// Patch implements client.Client.
func (l *leases) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var sent coordinationv1.Lease
	if err := json.Unmarshal(data, &sent); err != nil {
		return err
	}
	return l.take(ctx, obj, sent.Annotations, sent.Spec)
}

// Update implements client.Client.
func (l *leases) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	l.mu.Lock()
	version, answered := l.version, maps.Clone(l.answered)
	l.mu.Unlock()
	if obj.GetResourceVersion() != strconv.Itoa(version) {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, obj.GetName(), errors.New("it has changed"))
	}
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok {
		return fmt.Errorf("it is a %T", obj)
	}
	l.updates = append(l.updates, lease.DeepCopy())
	changed := maps.Clone(obj.GetAnnotations())
	maps.DeleteFunc(changed, func(key, value string) bool { return answered[key] == value })
	return l.take(ctx, obj, changed, lease.Spec)
}

// change changes the hub while a renewer runs.
func (l *leases) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// Get implements client.Reader.
func (l *leases) Get(_ context.Context, _ client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, new(client.GetOptions).ApplyOptions(opts).AsGetOptions().ResourceVersion)
	l.show(obj)
	return l.unread
}

func (l *leases) show(obj client.Object) {
	obj.SetAnnotations(maps.Clone(l.answered))
	obj.SetResourceVersion(strconv.Itoa(l.version))
	if lease, ok := obj.(*coordinationv1.Lease); ok {
		lease.Spec = *l.spec.DeepCopy()
	}
}

// take applies the changed annotations, as far as the hub accepts them.
func (l *leases) take(ctx context.Context, obj client.Object, changed map[string]string, spec coordinationv1.LeaseSpec) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := func() error {
		l.mu.Unlock()
		defer l.mu.Lock()
		<-ctx.Done()
		return ctx.Err()
	}
	if l.busy && !l.lands {
		return late()
	}
	l.got = append(l.got, changed)
	for key, value := range changed {
		if !slices.Contains(l.takes, key) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "edge-1", errors.New(key))
		}
		l.answered[key] = value
	}
	l.version++
	l.spec = spec
	if l.busy {
		return late()
	}
	l.show(obj)
	return nil
}
