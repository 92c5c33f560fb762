package dependencies

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/utils/lru"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// The binding of a workload stays until nothing is attached to it any more. So a binding that is missing while something is attached to it
// was lost, or is not restored yet where a hub is restored object by object. That says nothing about the needs of its workload, whose
// copies may still run in the members. What is attached is therefore detached only if this process saw the deletion of the binding, as when
// somebody removes the finalizer.

const (
	// maxDeparted is how many of the last deleted bindings are remembered. What was attached to them is noticed within seconds.
	maxDeparted = 16 << 10
	// maxLeftLogged is for how many missing bindings it is logged what is still attached.
	maxLeftLogged = 20
	// maxLeftNamed is how many of the attached bindings are named in such a log.
	maxLeftNamed = 3
)

// departed are the bindings that this process saw deleted, and the missing ones to which bindings are still attached. The zero value is
// ready; it is safe for concurrent use.
type departed struct {
	mu   sync.Mutex
	gone *lru.Cache
	left map[request]struct{}
}

// went records that a binding was seen to be deleted, and returns whether bindings were left attached to it.
func (d *departed) went(req request) (left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone == nil {
		d.gone = lru.New(maxDeparted)
	}
	d.gone.Add(req, struct{}{})
	_, left = d.left[req]
	delete(d.left, req)
	return left
}

// came records that a binding exists.
func (d *departed) came(req request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		d.gone.Remove(req)
	}
	delete(d.left, req)
}

// isLeft returns whether what is attached to a missing binding stays, because its deletion was not seen. isNew says that this was not so
// before, and should be logged.
func (d *departed) isLeft(req request) (left, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		if _, went := d.gone.Get(req); went {
			return false, false
		}
	}
	if _, known := d.left[req]; known {
		return true, false
	}
	if d.left == nil {
		d.left = map[request]struct{}{}
	}
	d.left[req] = struct{}{}
	return true, len(d.left) <= maxLeftLogged
}

// logLeft logs what is still attached to a missing binding, and how to delete it.
func logLeft(ctx context.Context, req request, attached []kube.Binding) {
	var names, commands []string
	for _, b := range attached[:min(len(attached), maxLeftNamed)] {
		key := client.ObjectKeyFromObject(b)
		names = append(names, key.String())
		if attach.OnlyFor(b, req) {
			commands = append(commands, strings.TrimSuffix(fmt.Sprintf("kubectl delete %s %s -n %s", strings.ToLower(kindFor(key).Kind), key.Name, key.Namespace), " -n "))
		}
	}
	ctrl.LoggerFrom(ctx).Info("Kept a dependency whose workload has no binding: this hub did not see the deletion of the binding, so it deletes nothing",
		"count", len(attached), "someOfThem", names, "toDeleteWithItsObjects", commands)
}
