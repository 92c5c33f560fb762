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

// The binding of a workload stays until nothing follows it any more. So one that something follows and that is not there was lost, or is yet to
// come where a hub is restored object by object: that is no word on what its workload needs, whose copies may run on in the members. What
// follows is let go of only if this process saw the binding go, as it does where somebody takes the finalizer off.

const (
	// maxDeparted is how many of the bindings that went last are known. What followed them comes to light within seconds.
	maxDeparted = 16 << 10
	// maxLeftLogged is of how many bindings that are not there it is logged what is left.
	maxLeftLogged = 20
	// maxLeftNamed is how many of what follows one of them are named.
	maxLeftNamed = 3
)

// departed are the bindings that this process saw go, and those of which it left what follows them. The zero value is ready; it is safe for
// use by many goroutines.
type departed struct {
	mu   sync.Mutex
	gone *lru.Cache
	left map[request]struct{}
}

// went notes that a binding was seen to go, and says whether something was left that followed it.
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

// came notes that a binding is there.
func (d *departed) came(req request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		d.gone.Remove(req)
	}
	delete(d.left, req)
}

// isLeft says whether what follows a binding that is not there is left: it was not seen to go. It is new if that was not so before,
// and is to be logged.
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

// logLeft logs what is left of a binding that is not there, and how it is deleted by whoever means it.
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
