package agentlimit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/clock"
)

const (
	// agents is the group of all agents; the contract of hub and agents has it.
	agents = "system:karmada:agents"
	// maxStatus is how many bytes a status of an agent may have. An object may have 1.5 MiB, of which the hub needs the rest.
	maxStatus = 768 << 10
	// burst is how many bytes an agent may send at once, and stored how many the database may have to write for it: that writes the whole
	// of an object each time, its manifests too, which are none of the agent's doing. So one that reports once or twice on each of thousands
	// of large Works need not wait long, and whoever rewrites small statuses of large Works has the file grow by less than 1.5 GiB until old
	// revisions are dropped, after five to ten minutes, and the API server remember 400 MiB of it, which it does of the last 75 seconds.
	// perSecond and storedPerSecond are how many come back.
	burst           = 64 << 20
	perSecond       = 1 << 20
	stored          = 256 << 20
	storedPerSecond = 2 << 20
	// record is the number of bytes that each write of a status or a finalizer counts beside its content: for its key, and for what is sent
	// to watchers.
	record = 512
	// sweep is how often the map is cleared of agents that have all of it left.
	sweep = time.Minute
)

// Limit is a chain of admission behind what agents may store.
type Limit struct {
	next  admission.Interface
	clock clock.PassiveClock

	mu sync.Mutex
	// left has, by the name of each agent that wrote lately, its remaining budget. There is one agent for each cluster.
	left  map[string]budget
	swept time.Time
}

// budget limits how many bytes an agent may send, and how many may be stored for it.
type budget struct{ sent, stored *rate.Limiter }

// New returns the chain behind the limits.
func New(next admission.Interface, at clock.PassiveClock) *Limit {
	return &Limit{next: next, clock: at, left: map[string]budget{}, swept: at.Now()}
}

// Handles implements admission.Interface.
func (l *Limit) Handles(operation admission.Operation) bool {
	return stores(operation) || l.next.Handles(operation)
}

// Admit implements admission.MutationInterface.
func (l *Limit) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if next, ok := l.next.(admission.MutationInterface); ok && next.Handles(a.GetOperation()) {
		return next.Admit(ctx, a, o)
	}
	return nil
}

// Validate implements admission.ValidationInterface. What is beyond the limits the chain does not see: to look at it may take long.
func (l *Limit) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if stores(a.GetOperation()) && a.GetObject() != nil && slices.Contains(a.GetUserInfo().GetGroups(), agents) {
		if err := l.take(a); err != nil {
			return err
		}
	}
	if next, ok := l.next.(admission.ValidationInterface); ok && next.Handles(a.GetOperation()) {
		return next.Validate(ctx, a, o)
	}
	return nil
}

// take refuses what an agent writes, or takes it off what that agent has left.
func (l *Limit) take(a admission.Attributes) error {
	var sent, whole int
	switch object := a.GetObject().(type) {
	case *unstructured.Unstructured:
		whole = size(object.Object)
		sent = whole
		if a.GetSubresource() != "status" { // it changes nothing of a status, which may be from before there was a limit
			if a.GetOperation() == admission.Update && a.GetResource().Resource == "works" { // of which an agent changes the finalizers alone
				sent = size(object.Object["metadata"]) + record
			}
			break
		}
		status := size(object.Object["status"])
		if status > maxStatus {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the status of %s %q would have %d bytes, and an agent may report no more than %d",
				a.GetResource().Resource, a.GetName(), status, maxStatus))
		}
		sent = status + record
	default: // what Kubernetes has itself
		encoded, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("looking how large %s %q is: %w", a.GetResource().Resource, a.GetName(), err)
		}
		whole = len(encoded)
		sent = whole
	}
	if a.IsDryRun() {
		return nil
	}
	wait := l.spend(a.GetUserInfo().GetName(), sent, whole)
	if wait == 0 {
		return nil
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("the agent has written too much in a short time, %d MiB or %d MiB of whole objects; it may go on with %s %q in %d s",
		burst>>20, stored>>20, a.GetResource().Resource, a.GetName(), wait), wait)
}

// spend takes bytes off what an agent has left, or says in how many seconds it has as many.
func (l *Limit) spend(user string, sent, whole int) (wait int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.forget(now)
	of, known := l.left[user]
	if !known {
		of = budget{rate.NewLimiter(perSecond, burst), rate.NewLimiter(storedPerSecond, stored)}
		l.left[user] = of
	}
	sent, whole = min(sent, burst), min(whole, stored)
	seconds := max((float64(sent)-of.sent.TokensAt(now))/perSecond, (float64(whole)-of.stored.TokensAt(now))/storedPerSecond)
	if seconds > 0 {
		return max(1, int(math.Ceil(seconds)))
	}
	of.sent.AllowN(now, sent)
	of.stored.AllowN(now, whole)
	return 0
}

// forget lets go of agents that have all left: an agent that comes again begins with as much, and the names of those that are gone
// would stay for ever.
func (l *Limit) forget(now time.Time) {
	if now.Sub(l.swept) < sweep {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.left, func(_ string, of budget) bool {
		return of.sent.TokensAt(now) >= burst && of.stored.TokensAt(now) >= stored
	})
}

// stores says whether an operation writes what somebody sends.
func stores(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}
